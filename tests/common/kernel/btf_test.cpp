// The description of the kernel's types, from bytes made here. That of the running kernel:
// tests/netns/uppers_test.
#include "common/kernel/btf.h"

#include <cstring>

#include <catch2/catch.hpp>
#include <linux/btf.h>

namespace vfrail::test {
namespace {

using Catch::Contains;

class Writer {
 public:
  uint32_t name(const std::string& text) {
    const auto at = static_cast<uint32_t>(strings_.size());
    strings_ += text + '\0';
    return at;
  }
  // Returns its number.
  uint32_t type(uint32_t kind, const std::string& text, uint32_t count, uint32_t size_or_type,
                bool has_bitfields = false) {
    put(text.empty() ? 0 : name(text));
    put(kind << 24U | count | (has_bitfields ? 1U << 31U : 0));
    put(size_or_type);
    return ++types_;
  }
  void member(const std::string& text, uint32_t of_type, uint32_t offset) {
    const uint32_t at = text.empty() ? 0 : name(text);
    put(at);
    put(of_type);
    put(offset);
  }
  void put(uint32_t value) { body_.append(reinterpret_cast<const char*>(&value), sizeof value); }
  std::string bytes() const {
    btf_header header{};
    header.magic = BTF_MAGIC;
    header.version = BTF_VERSION;
    header.hdr_len = sizeof header;
    header.type_len = static_cast<uint32_t>(body_.size());
    header.str_off = header.type_len;
    header.str_len = static_cast<uint32_t>(strings_.size());
    return std::string(reinterpret_cast<const char*>(&header), sizeof header) + body_ + strings_;
  }

 private:
  std::string strings_ = std::string(1, '\0');
  std::string body_;
  uint32_t types_ = 0;
};

// struct list { struct list* next; };
// struct device { union { long id; struct { long a; struct list lists; }; }; const alias more; }, where alias
// is a typedef of struct { long x; long upper; }.
std::string some_types() {
  Writer out;
  const uint32_t number = out.type(BTF_KIND_INT, "long", 0, 8);
  out.put(64);
  const uint32_t list = out.type(BTF_KIND_STRUCT, "list", 1, 8);
  out.member("next", list + 1, 0);
  out.type(BTF_KIND_PTR, "", 0, list);
  const uint32_t inner = out.type(BTF_KIND_STRUCT, "", 2, 16);
  out.member("a", number, 0);
  out.member("lists", list, 64);
  const uint32_t either = out.type(BTF_KIND_UNION, "", 2, 16);
  out.member("id", number, 0);
  out.member("", inner, 0);
  const uint32_t pair = out.type(BTF_KIND_STRUCT, "", 2, 16);
  out.member("x", number, 0);
  out.member("upper", number, 64);
  const uint32_t alias = out.type(BTF_KIND_TYPEDEF, "alias", 0, pair);
  const uint32_t qualified = out.type(BTF_KIND_CONST, "", 0, alias);
  out.type(BTF_KIND_STRUCT, "device", 3, 40, true);
  out.member("", either, 0);
  out.member("more", qualified, 128);
  out.member("bits", number, 3U << 24U | 259U);
  return out.bytes();
}

uint32_t offset(const Btf& types, const char* path) {
  const auto out = types.offset_of("device", path);
  INFO(path << (out.ok() ? "" : ": " + out.error().text));
  REQUIRE(out.ok());
  return *out;
}

}  // namespace

TEST_CASE("members are found in structures, unions, anonymous ones and typedefs of them") {
  const auto types = Btf::parse(some_types());
  REQUIRE(types);
  CHECK(offset(*types, "id") == 0);
  CHECK(offset(*types, "a") == 0);
  CHECK(offset(*types, "lists") == 8);
  CHECK(offset(*types, "lists.next") == 8);
  CHECK(offset(*types, "more") == 16);
  CHECK(offset(*types, "more.upper") == 24);
}

TEST_CASE("a member that is not there, or not at a whole byte, is not known") {
  const auto types = Btf::parse(some_types());
  REQUIRE(types);
  for (const char* path : {"none", "id.more", "more.none", "lists.next.next", "bits"}) {
    CAPTURE(path);
    const auto found = types->offset_of("device", path);
    REQUIRE_FALSE(found.ok());
    CHECK(found.error().code == Errc::unsupported);
    CHECK_THAT(found.error().text, Contains("device." + std::string(path)));
  }
  CHECK_FALSE(types->offset_of("nothing", "id").ok());
}

TEST_CASE("of two structures of one name that disagree nothing is known") {
  Writer out;
  const uint32_t number = out.type(BTF_KIND_INT, "long", 0, 8);
  out.put(64);
  for (const uint32_t bits : {0U, 64U}) {
    out.type(BTF_KIND_STRUCT, "device", 1, 16);
    out.member("id", number, bits);
  }
  const auto types = Btf::parse(out.bytes());
  REQUIRE(types);
  CHECK_FALSE(types->offset_of("device", "id").ok());
}

TEST_CASE("bytes that end anywhere, or are others, are an error") {
  const std::string whole = some_types();
  for (size_t size = 0; size < whole.size(); ++size) {
    const auto types = Btf::parse(whole.substr(0, size));
    CAPTURE(size);
    CHECK_FALSE(types.ok());
  }
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const unsigned value : {0U, 1U, 0x7fU, 0xffU}) {
      std::string changed = whole;
      changed[at] = static_cast<char>(value);
      const auto types = Btf::parse(changed);
      if (types.ok()) static_cast<void>(types->offset_of("device", "more.upper").ok());
    }
  }
}

TEST_CASE("structures that contain themselves come to an end") {
  Writer out;
  out.type(BTF_KIND_STRUCT, "", 1, 8);
  out.member("", 1, 0);
  out.type(BTF_KIND_TYPEDEF, "loop", 0, 2);
  out.type(BTF_KIND_STRUCT, "device", 2, 8);
  out.member("", 1, 0);
  out.member("more", 2, 0);
  const auto types = Btf::parse(out.bytes());
  REQUIRE(types);
  CHECK_FALSE(types->offset_of("device", "id").ok());
  CHECK_FALSE(types->offset_of("device", "more.id").ok());
}

}  // namespace vfrail::test

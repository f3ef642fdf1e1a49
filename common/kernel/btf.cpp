#include "common/kernel/btf.h"

#include <cstring>
#include <optional>

#include <linux/btf.h>

namespace vfrail {

namespace {

// Anonymous structures in each other, and typedefs of typedefs.
constexpr int kMaxNesting = 16;
constexpr uint32_t kEnum64 = 19;  // BTF_KIND_ENUM64, newer than the headers of Debian 12's compiler

Error malformed(const std::string& what) {
  return {Errc::protocol, 0, "the kernel's description of its types (BTF) has " + what};
}

template <class T>
std::optional<T> read_at(const std::string& bytes, size_t at) {
  if (at > bytes.size() || bytes.size() - at < sizeof(T)) return {};
  T out;
  std::memcpy(&out, bytes.data() + at, sizeof out);
  return out;
}

// The bytes that follow a type. No value: of an unknown kind, whose size nobody knows.
std::optional<size_t> body_bytes(uint32_t kind, size_t count) {
  switch (kind) {
    case BTF_KIND_INT:
    case BTF_KIND_VAR:
    case BTF_KIND_DECL_TAG:
      return sizeof(uint32_t);
    case BTF_KIND_ARRAY:
      return sizeof(btf_array);
    case BTF_KIND_STRUCT:
    case BTF_KIND_UNION:
      return count * sizeof(btf_member);
    case BTF_KIND_ENUM:
      return count * sizeof(btf_enum);
    case BTF_KIND_FUNC_PROTO:
      return count * sizeof(btf_param);
    case BTF_KIND_DATASEC:
      return count * sizeof(btf_var_secinfo);
    case kEnum64:
      return count * (3 * sizeof(uint32_t));
    case BTF_KIND_PTR:
    case BTF_KIND_FWD:
    case BTF_KIND_TYPEDEF:
    case BTF_KIND_VOLATILE:
    case BTF_KIND_CONST:
    case BTF_KIND_RESTRICT:
    case BTF_KIND_FUNC:
    case BTF_KIND_FLOAT:
    case BTF_KIND_TYPE_TAG:
      return 0;
    default:
      return {};
  }
}

bool is_alias(uint32_t kind) {
  return kind == BTF_KIND_TYPEDEF || kind == BTF_KIND_CONST || kind == BTF_KIND_VOLATILE ||
         kind == BTF_KIND_TYPE_TAG;
}

bool has_members(uint32_t kind) { return kind == BTF_KIND_STRUCT || kind == BTF_KIND_UNION; }

}  // namespace

Result<Btf> Btf::parse(std::string bytes) {
  Btf out;
  out.bytes_ = std::move(bytes);
  const auto header = read_at<btf_header>(out.bytes_, 0);
  if (!header || header->magic != BTF_MAGIC || header->version != BTF_VERSION)
    return malformed("another format");
  const size_t begin = size_t{header->hdr_len} + header->type_off;
  const size_t end = begin + header->type_len;
  out.strings_ = size_t{header->hdr_len} + header->str_off;
  out.strings_end_ = out.strings_ + header->str_len;
  if (end > out.bytes_.size() || out.strings_end_ > out.bytes_.size()) return malformed("no end");
  for (size_t at = begin; at < end;) {
    const auto type = read_at<btf_type>(out.bytes_, at);
    if (!type) return malformed("no end");
    const uint32_t kind = BTF_INFO_KIND(type->info);
    const uint32_t count = BTF_INFO_VLEN(type->info);
    const auto body = body_bytes(kind, count);
    if (!body) return malformed("a kind of type that is not known: " + std::to_string(kind));
    at += sizeof *type;
    if (*body > end - at) return malformed("no end");
    out.types_.push_back({kind, count, BTF_INFO_KFLAG(type->info) != 0, type->name_off, type->type, at});
    at += *body;
  }
  return out;
}

const Btf::Type* Btf::type(uint32_t number) const {
  return number == 0 || number > types_.size() ? nullptr : &types_[number - 1];
}

const Btf::Type* Btf::structure(uint32_t number) const {
  const Type* out = type(number);
  for (int i = 0; out != nullptr && is_alias(out->kind) && i < kMaxNesting; ++i) out = type(out->target);
  return out != nullptr && has_members(out->kind) ? out : nullptr;
}

Btf::Member Btf::member(const Type& of, uint32_t index) const {
  btf_member out;
  std::memcpy(&out, bytes_.data() + of.body + index * sizeof out, sizeof out);
  return {out.name_off, out.type, of.has_bitfields ? BTF_MEMBER_BIT_OFFSET(out.offset) : out.offset};
}

std::string_view Btf::name(uint32_t offset) const {
  if (offset >= strings_end_ - strings_) return {};
  const std::string_view rest(bytes_.data() + strings_ + offset, strings_end_ - strings_ - offset);
  return rest.substr(0, rest.find('\0'));
}

bool Btf::find(const Type& in, std::string_view path, uint32_t& bits, int depth) const {
  const size_t dot = path.find('.');
  for (uint32_t i = 0; i < in.count; ++i) {
    const Member one = member(in, i);
    const std::string_view text = name(one.name);
    const Type* inside = text.empty() || dot != std::string_view::npos ? structure(one.type) : nullptr;
    uint32_t deeper = 0;
    if (text.empty()) {
      if (inside == nullptr || depth == kMaxNesting || !find(*inside, path, deeper, depth + 1)) continue;
    } else if (text != path.substr(0, dot)) {
      continue;
    } else if (dot != std::string_view::npos) {
      if (inside == nullptr || depth == kMaxNesting) return false;
      if (!find(*inside, path.substr(dot + 1), deeper, depth + 1)) return false;
    }
    bits = one.bits + deeper;
    return true;
  }
  return false;
}

Result<uint32_t> Btf::offset_of(std::string_view structure, std::string_view path) const {
  std::optional<uint32_t> out;
  bool clear = true;
  for (const Type& type : types_) {
    uint32_t bits = 0;
    if (type.kind != BTF_KIND_STRUCT || name(type.name) != structure || !find(type, path, bits, 0)) continue;
    clear = clear && (!out || *out == bits) && bits % 8 == 0;
    out = bits;
  }
  if (out && clear) return *out / 8;
  return Error{Errc::unsupported, 0,
               "the kernel's description of its types (BTF) has no " + std::string(structure) + "." +
                   std::string(path) + (out ? " that is at one place" : "")};
}

}  // namespace vfrail

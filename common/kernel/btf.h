// Btf: where the members of the running kernel's structures are, by the description that it has of them
// itself
// (/sys/kernel/btf/vmlinux; the format is Documentation/bpf/btf.rst, linux/btf.h). Reads bytes, opens
// nothing. libbpf would do it, with libelf and zlib in the static vfrail-cni, for these few lines.
#pragma once

#include "common/result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vfrail {

class Btf {
 public:
  // More than any kernel has: 5 to 8 MB.
  static constexpr size_t kMaxBytes = size_t{64} << 20;

  // Errc::protocol if it is not a description that can be walked.
  static Result<Btf> parse(std::string bytes);

  // The offset in bytes of a member of a structure: ("net_device", "adj_list.upper"). A member of an
  // anonymous structure or union is found as one of the structure around it. Errc::unsupported if there is
  // none, or several structures of that name disagree.
  Result<uint32_t> offset_of(std::string_view structure, std::string_view path) const;

 private:
  struct Type {
    uint32_t kind;
    uint32_t count;  // of what follows it
    bool has_bitfields;
    uint32_t name;
    uint32_t target;  // the type that a typedef, const, ... is of
    size_t body;      // where what follows it begins
  };
  struct Member {
    uint32_t name;
    uint32_t type;
    uint32_t bits;
  };
  // Where in the bytes the type with that number begins. 0 is void, which has no place.
  const Type* type(uint32_t number) const;
  // The structure that a type is, through typedefs and qualifiers. Null: it is not one.
  const Type* structure(uint32_t number) const;
  Member member(const Type& of, uint32_t index) const;
  std::string_view name(uint32_t offset) const;
  bool find(const Type& in, std::string_view path, uint32_t& bits, int depth) const;

  std::string bytes_;
  size_t strings_ = 0;
  size_t strings_end_ = 0;
  std::vector<Type> types_;
};

}  // namespace vfrail

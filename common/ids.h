// The names that vfrail uses, each parsed once at the edge and formatted in one place: PciAddress,
// MacAddress, IfName, RdmaName, DeviceId. Pure values; no I/O.
#pragma once

#include "common/result.h"

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace vfrail {

// A PCI function, "dddd:bb:dd.f". Domains above ffff exist (VMD), so the domain has 32 bits.
struct PciAddress {
  uint32_t domain = 0;
  uint8_t bus = 0;
  uint8_t device = 0;    // 0-31
  uint8_t function = 0;  // 0-7

  auto operator<=>(const PciAddress&) const = default;
  std::string text() const;
  static std::optional<PciAddress> parse(std::string_view text);
};

// A link-layer address: 6 bytes for Ethernet, 20 for IPoIB. Empty for links that have none.
struct MacAddress {
  std::vector<uint8_t> bytes;  // at most 32 (MAX_ADDR_LEN)

  auto operator<=>(const MacAddress&) const = default;
  std::string text() const;  // lower-case hex, colons
  bool all_zero() const;
  bool ipoib() const { return bytes.size() == 20; }  // RFC 4391; its last 8 bytes are the port's GUID
  // Accepts ':' or '-' between the bytes, or '.' between pairs of them, any case; 6 or 20 bytes.
  static std::optional<MacAddress> parse(std::string_view text);
};

// A name of one kind of thing: made explicitly, so that no other text is taken for one, and read as a text.
template <class Kind>
class Name {
 public:
  using IsName = Kind;
  Name() = default;  // empty: there is none
  template <size_t N>
  Name(const char (&written)[N]) : text_(written) {}  // in the program's text, by whoever knows what it names
  template <size_t N>
  Name(char (&buffer)[N]) = delete;

  const std::string& text() const { return text_; }
  operator const std::string&() const { return text_; }
  operator std::string_view() const { return text_; }
  bool empty() const { return text_.empty(); }
  bool operator==(const Name&) const = default;
  auto operator<=>(const Name&) const = default;
  template <class Text>
  requires(std::is_convertible_v<const Text&, std::string_view> &&
           !requires { typename Text::IsName; }) friend bool
  operator==(const Name& name, const Text& text) {
    return std::string_view(name.text_) == std::string_view(text);
  }
  friend std::string operator+(const std::string& text, const Name& name) { return text + name.text_; }
  friend std::string operator+(const Name& name, const std::string& text) { return name.text_ + text; }

 protected:
  explicit Name(std::string text) : text_(std::move(text)) {}

 private:
  std::string text_;
};

// Of a network interface, by the rule of dev_valid_name() in net/core/dev.c: 1-15 bytes, not "." or "..", no
// '/', ':' or white space. CNI forbids the same names. Nor '%', which the kernel replaces by a number
// (dev_get_valid_name()): "net%d" would never be the interface's name.
class IfName : public Name<IfName> {
 public:
  using Name::Name;
  static std::optional<IfName> parse(std::string_view text);
};

// Of an RDMA device, as the kernel has it: sysfs has a folder of that name.
class RdmaName : public Name<RdmaName> {
 public:
  using Name::Name;
  explicit RdmaName(std::string text) : Name(std::move(text)) {}
  static std::optional<RdmaName> parse(std::string_view text);  // a name of a file
};

// A device's id from a device plugin, passed on by Multus: a PCI address or an auxiliary-device name
// ("mlx5_core.sf.4"). Compared as text, because the peers and kubelet do.
class DeviceId {
 public:
  DeviceId() = default;
  explicit DeviceId(PciAddress address) : text_(address.text()) {}
  // 1-63 bytes (the kubelet API's limit) of letters, digits and "._:-"; not "." or "..": it becomes a file
  // name.
  static Result<DeviceId> parse(std::string_view text);

  const std::string& text() const { return text_; }
  bool empty() const { return text_.empty(); }
  std::optional<PciAddress> pci() const { return PciAddress::parse(text_); }
  auto operator<=>(const DeviceId&) const = default;

 private:
  std::string text_;
};

}  // namespace vfrail

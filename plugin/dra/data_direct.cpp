#include "plugin/dra/data_direct.h"

#include "common/text.h"

#include <optional>
#include <vector>

namespace vfrail::plugin {

namespace {

constexpr const char* kDriverFolder = "sys/bus/pci/drivers/mlx5_ib";
constexpr const char* kVendor = "0x15b3";
constexpr const char* kDataDirect = "0x2100";
// What a card and its Data Direct function have in common.
constexpr const char* kCommonField = "V3";

std::string folder_of(const PciAddress& address) { return "sys/bus/pci/devices/" + address.text(); }

std::string value_of(const Result<std::optional<std::string>>& text) {
  return text && *text ? **text : std::string();
}

// The kernel reads it from the device at each read, so only where it is needed.
std::string common_field(const SysRoot& sys, const PciAddress& address) {
  return vpd_field(value_of(sys.text(folder_of(address) + "/vpd")), kCommonField);
}

// "pci0009:00" of "../../../devices/pci0009:00/0009:00:00.0/...".
std::string root_of(const SysRoot& sys, const PciAddress& address) {
  for (const std::string& part : split(value_of(sys.link_target(folder_of(address))), "/")) {
    if (part.starts_with("pci")) return part;
  }
  return {};
}

// By their common field; "" where two functions have it, which no source speaks of.
std::map<std::string, std::string> read_functions(const SysRoot& sys) {
  std::map<std::string, std::string> out;
  const auto names = sys.list(kDriverFolder);
  if (!names || !*names) return out;
  for (const std::string& name : **names) {
    const auto address = PciAddress::parse(name);
    if (!address || value_of(sys.text(folder_of(*address) + "/device")) != kDataDirect) continue;
    const std::string field = common_field(sys, *address);
    const auto [at, is_new] = out.emplace(field, root_of(sys, *address));
    if (!is_new) at->second.clear();
  }
  return out;
}

size_t length_at(std::string_view data, size_t at) {
  const auto byte = [&](size_t i) { return size_t{static_cast<unsigned char>(data[i])}; };
  return byte(at) | byte(at + 1) << 8U;
}

std::string find_field(std::string_view fields, std::string_view keyword) {
  while (fields.size() >= 3) {
    const size_t length = static_cast<unsigned char>(fields[2]);
    if (length > fields.size() - 3) return {};
    if (fields.substr(0, 2) == keyword) return std::string(fields.substr(3, length));
    fields.remove_prefix(3 + length);
  }
  return {};
}

}  // namespace

std::map<PciAddress, std::string> find_data_direct_roots(const SysRoot& sys,
                                                         const std::set<PciAddress>& ports) {
  std::map<PciAddress, std::string> out;
  const auto functions = read_functions(sys);
  if (functions.empty()) return out;
  for (const PciAddress& port : ports) {
    std::string& root = out[port];
    if (value_of(sys.text(folder_of(port) + "/vendor")) != kVendor) continue;
    const std::string field = common_field(sys, port);
    const auto at = functions.find(field);
    if (!field.empty() && at != functions.end()) root = at->second;
  }
  return out;
}

// Items have a tag of one byte. With its highest bit two bytes of length follow; else the length is in its
// lowest three bits.
std::string vpd_field(std::string_view vpd, std::string_view keyword) {
  constexpr unsigned kLarge = 0x80;
  constexpr unsigned kReadOnly = 0x90;
  constexpr unsigned kEnd = 0x78;
  while (!vpd.empty()) {
    const unsigned tag = static_cast<unsigned char>(vpd[0]);
    if ((tag & ~7U) == kEnd) return {};
    const bool large = (tag & kLarge) != 0;
    const size_t head = large ? 3 : 1;
    if (vpd.size() < head) return {};
    const size_t length = large ? length_at(vpd, 1) : tag & 7U;
    if (length > vpd.size() - head) return {};
    if (tag == kReadOnly) return find_field(vpd.substr(head, length), keyword);
    vpd.remove_prefix(head + length);
  }
  return {};
}

}  // namespace vfrail::plugin

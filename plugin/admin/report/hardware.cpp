#include "plugin/admin/report/hardware.h"

#include "common/files.h"
#include "plugin/admin/report/model_names.h"

#include <string_view>

namespace vfrail::plugin {

namespace {

constexpr size_t kMaxNamesBytes = 16 << 20;  // 1.4 MB in 2023

// "15b3" -> its name, "15b31021" -> the name of its device 1021.
using PciNames = std::map<std::string, std::string, std::less<>>;

std::string first_text(const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    const auto text = read_file(file, kMaxNamesBytes);
    if (text && *text) return **text;
  }
  return "";
}

// The names of what `wanted` has: "15b3  Mellanox Technologies", below it "\t1021  MT2910 Family
// [ConnectX-7]". Subsystems ("\t\t...") are not asked for, and device classes ("C 02") end the vendors.
void find_names(std::string_view text, PciNames& wanted) {
  std::string vendor;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.starts_with("C ")) return;
    if (line.empty() || line.starts_with("#") || line.starts_with("\t\t")) continue;
    const bool device = line.starts_with("\t");
    if (device) line.remove_prefix(1);
    if (line.size() < 7) continue;
    if (!device) vendor = line.substr(0, 4);
    const auto at = wanted.find(device ? vendor + std::string(line.substr(0, 4)) : vendor);
    if (at != wanted.end()) at->second = line.substr(6);
  }
}

PciNames read_names(const std::vector<std::string>& files, const Inventory& inventory) {
  PciNames out;
  for (const DeviceFacts& function : inventory.functions) {
    out.emplace(function.vendor, "");
    out.emplace(function.vendor + function.device, "");
  }
  find_names(known_model_names(), out);
  find_names(first_text(files), out);  // says more, and is the word where both know a model
  return out;
}

}  // namespace

HardwareById read_hardware(const SysRoot& sys, const std::vector<std::string>& pci_ids,
                           const Inventory& inventory) {
  const PciNames names = read_names(pci_ids, inventory);
  HardwareById out;
  for (const DeviceFacts& function : inventory.functions) {
    out[function.id.text()] = {names.find(function.vendor)->second,
                               names.find(function.vendor + function.device)->second,
                               read_port_speed(sys, function)};
  }
  return out;
}

std::vector<std::string> pci_ids_files(const std::string& root) {
  std::vector<std::string> out;
  for (const std::string& from : {root, std::string("/")}) {
    for (const char* file : {"usr/share/misc/pci.ids", "usr/share/hwdata/pci.ids", "var/lib/pciutils/pci.ids",
                             "usr/share/pci.ids"})
      out.push_back(SysRoot(from).path(file));
  }
  return out;
}

}  // namespace vfrail::plugin

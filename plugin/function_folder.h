// FunctionFolder: the folder of one function in sysfs, listed once, so that what is not there costs no look.
// Reads on demand; keeps only the names.
#pragma once

#include "common/ids.h"
#include "common/sys_root.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vfrail {

// "sys/bus/pci/devices/0000:03:02.1", "sys/bus/auxiliary/devices/mlx5_core.sf.4".
std::string pci_folder(const PciAddress& address);
std::string auxiliary_folder(std::string_view name);

// The last PCI function in a path: 0000:65:00.2 of "../../../devices/pci0000:00/0000:65:00.2/vdpa0". Pure.
std::optional<PciAddress> innermost_function(const std::string& path);

// Function::pcie_path; empty if there is no such function.
std::vector<std::string> read_pcie_path(const SysRoot& sys, const PciAddress& address);

class FunctionFolder {
 public:
  // `sys` outlives this. A folder that is not there has no entries.
  FunctionFolder(const SysRoot& sys, std::string path);

  const SysRoot& sys() const { return sys_; }
  const std::vector<std::string>& entries() const { return entries_; }  // sorted
  bool has(std::string_view entry) const;
  std::string path(std::string_view entry) const;
  // What SysRoot's functions of these names read; empty if the entry is not there.
  std::string text(std::string_view entry) const;
  std::optional<int64_t> number(std::string_view entry) const;
  std::optional<std::string> link_name(std::string_view entry) const;
  std::vector<std::string> list(std::string_view entry) const;

 private:
  const SysRoot& sys_;
  std::string path_;
  std::vector<std::string> entries_;
};

}  // namespace vfrail

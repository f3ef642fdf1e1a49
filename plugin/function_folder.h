// FunctionFolder: the folder of one function in sysfs. Reads on demand; keeps nothing.
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
  // `sys` outlives this.
  FunctionFolder(const SysRoot& sys, std::string path) : sys_(sys), path_(std::move(path)) {}

  const SysRoot& sys() const { return sys_; }
  const std::string& path() const { return path_; }
  std::string path(std::string_view entry) const;
  // As SysRoot's functions of these names.
  std::string text(std::string_view entry) const;
  std::optional<int64_t> number(std::string_view entry) const;
  std::optional<std::string> link_name(std::string_view entry) const;
  std::vector<std::string> list(std::string_view entry) const;

 private:
  const SysRoot& sys_;
  std::string path_;
};

}  // namespace vfrail

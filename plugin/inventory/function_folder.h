// FunctionFolder: the folder of one function in sysfs, held open. Reads on demand; keeps nothing of it.
#pragma once

#include "common/ids.h"
#include "common/node/sys_root.h"

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

// Of what the file says, in which the kernel writes -1 for none. Pure.
std::optional<int> numa_node_of(std::optional<int64_t> number);

// PciFunction::pcie_path; empty if there is no such function.
Result<std::vector<std::string>> read_pcie_path(const SysRoot& sys, const PciAddress& address);

class FunctionFolder {
 public:
  FunctionFolder(const SysRoot& sys, std::string_view path) : here_(sys.at(path)) {}

  // As SysRoot's functions of these names; what is not there is empty.
  Result<std::string> text(std::string_view entry) const;
  Result<std::vector<std::string>> list(std::string_view entry) const;
  Result<std::optional<int64_t>> number(std::string_view entry) const { return here_.number(entry); }
  Result<std::optional<std::string>> link_name(std::string_view entry) const {
    return here_.link_name(entry);
  }
  Result<bool> exists(std::string_view entry) const { return here_.exists(entry); }
  // Of an attribute for which the driver asks its firmware: a device whose firmware does not answer (EIO,
  // ETIMEDOUT, ...) is a fact about the device, and its text is empty.
  Result<std::string> text_of_firmware(std::string_view entry) const;

 private:
  const SysRoot here_;
};

}  // namespace vfrail

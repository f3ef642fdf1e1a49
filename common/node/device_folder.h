// DeviceFolder: the folder of one device in sysfs. Reads on demand; keeps nothing of it.
#pragma once

#include "common/ids.h"
#include "common/node/sys_root.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vfrail {

inline constexpr const char* kPciDevices = "sys/bus/pci/devices";
inline constexpr const char* kAuxiliaryDevices = "sys/bus/auxiliary/devices";

// "sys/bus/pci/devices/0000:03:02.1", "sys/bus/auxiliary/devices/mlx5_core.sf.4".
std::string device_folder(const DeviceId& id);

// The last PCI function in a path: 0000:65:00.2 of "../../../devices/pci0000:00/0000:65:00.2/vdpa0". Pure.
std::optional<PciAddress> innermost_function(const std::string& path);

class DeviceFolder {
 public:
  enum class Use : uint8_t {
    few_files,
    many_files,  // opened once, so that its path is not resolved for each file
  };
  DeviceFolder(const SysRoot& sys, const DeviceId& id, Use use = Use::few_files);
  explicit DeviceFolder(SysRoot folder) : here_(std::move(folder)) {}

  // Like SysRoot's functions of these names; a missing value is empty.
  Result<std::string> text(std::string_view entry) const;
  Result<std::vector<std::string>> list(std::string_view entry) const;
  Result<std::string> link_name(std::string_view entry) const;
  Result<std::optional<int64_t>> number(std::string_view entry) const { return here_.number(entry); }
  Result<bool> exists(std::string_view entry) const { return here_.exists(entry); }
  // Of an attribute for which the driver queries its firmware: a device whose firmware does not answer (EIO,
  // ETIMEDOUT, ...) is a fact about the device, and its text is empty.
  Result<std::string> text_of_firmware(std::string_view entry) const;

 private:
  SysRoot here_;
};

// The VFs of a PF, each at its index, where one that has been removed is empty; no more than up to `last`.
Result<std::vector<std::string>> list_vfs(const DeviceFolder& pf, const std::string& last = "");

}  // namespace vfrail

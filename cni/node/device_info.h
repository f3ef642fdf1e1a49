// The device-info file that Multus names in runtimeConfig.CNIDeviceInfoFile (Network Plumbing Working Group,
// device information 1.1.0). Multus copies it from the device plugin's, reads it after ADD into
// network-status and removes it. The device plugin writes the RDMA device's name in the host; here it is
// replaced by that in the pod.
#pragma once

#include "common/ids.h"
#include "common/json.h"
#include "common/result.h"

#include <optional>
#include <string>
#include <vector>

namespace vfrail::cni {

struct DeviceInfo {
  PciAddress address;
  std::string pf_address;         // empty: it is not a VF
  std::vector<std::string> rdma;  // names in the pod
};

// The corrected content. No value: it is correct already, or it describes something without an RDMA device.
// `file` is empty if there is none.
Result<std::optional<Json>> corrected_device_info(const std::optional<Json>& file, const DeviceInfo& device);

// Reads the file, corrects it, and replaces it atomically. A network's configuration can name it, so it must
// be below one of `folders`, and no symbolic link is followed there.
Result<> correct_device_info_file(const std::string& path, const std::vector<std::string>& folders,
                                  const DeviceInfo& device);

}  // namespace vfrail::cni

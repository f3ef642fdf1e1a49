// The device-info file that Multus names in runtimeConfig.CNIDeviceInfoFile (Network Plumbing Working Group,
// device information 1.1.0). Multus makes it of the device plugin's, reads it after ADD into network-status
// and removes it. The device plugin knows the RDMA device by its name in the host; here it gets that of the
// pod.
#pragma once

#include "common/ids.h"
#include "common/json.h"
#include "common/result.h"

#include <optional>
#include <string>
#include <vector>

namespace vfrail {

struct DeviceInfo {
  PciAddress address;
  std::string pf_address;         // empty: it is not a VF
  std::vector<std::string> rdma;  // names in the pod
};

// What the file must say. Nothing: it says so already, or it is about something that has no RDMA device.
// `file` is nothing if there is none.
Result<std::optional<Json>> corrected_device_info(const std::optional<Json>& file, const DeviceInfo& device);

// Reads the file, corrects it, and replaces it whole. The network's own text can name it, so it must be below
// one of `folders`, and no link is followed there.
Result<> correct_device_info_file(const std::string& path, const std::vector<std::string>& folders,
                                  const DeviceInfo& device);

}  // namespace vfrail

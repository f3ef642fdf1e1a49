// DeviceMetadata: the file in which a container finds what the devices of a claim's request are
// (metadata.resource.k8s.io, KEP-5304 of Kubernetes). vfrail serve writes it at the claim's prepare;
// vfrail-cni adds each device's interface and addresses at ADD, which is before the container is created: the
// mount of a file keeps the file that there was. On a tmpfs, beside the claim's record.
//
//   /run/vfrail/claims/metadata/2f0c8f1e-5b7d-4c0e-9b1a-0d3c8c0f7a11-0.json    0644; -0: the first request
#pragma once

#include "common/container/claim_record.h"
#include "common/json.h"
#include "common/node/attachment_record.h"
#include "common/result.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vfrail {

struct DescribedDevice {
  std::string name;  // in our ResourceSlices
  Json attributes = Json::object();
  Json network = {};  // NetworkDeviceData; null: no pod has it attached
  bool operator==(const DescribedDevice&) const = default;
};

struct DeviceMetadata {
  int64_t generation = 1;  // one more with each change
  std::vector<DescribedDevice> devices;
  bool operator==(const DeviceMetadata&) const = default;
};

// Whether the containers of the claim get such files: not for an extended resource, with which a pod gets
// what it gets of the device plugin; not for shares of a device, of which a node has hundreds, each with a
// CDI spec that the runtime would read at each start of a container; not if an older version has prepared it.
bool has_metadata(const ClaimRecord& record);
// Of the index-th request.
std::string metadata_path(const std::string& run_dir, const ClaimRecord& record, size_t request);
// Where a container finds it, as Kubernetes' library for readers wants it:
// "/var/run/kubernetes.io/dra-device-attributes/resourceclaims/CLAIM/REQUEST/DRIVER-metadata.json".
std::string metadata_in_container(const ClaimRecord& record, size_t request);

// A JSON object on a line for each version of the API, the newest first. Pure.
std::string format_metadata(const ClaimRecord& record, size_t request, const DeviceMetadata& metadata);
// Of such a text the first object. Errc::protocol or Errc::invalid: it is another text.
Result<DeviceMetadata> parse_metadata(std::string_view text);

// Atomic; the folder is created (0755), in that of the records, which is there. A file that is there stays as
// it is.
Result<> write_metadata(const std::string& run_dir, const ClaimRecord& record, size_t request,
                        const std::vector<DescribedDevice>& devices);
// Nothing is done where there is no such file.
Result<> add_network_data(const std::string& run_dir, const ClaimRecord& record, size_t request,
                          const std::string& device, const Json& network);
Result<> remove_metadata(const std::string& run_dir, const ClaimRecord& record);

// NetworkDeviceData (resource.k8s.io/v1) of an attachment: its interface, addresses, at most 16, and MAC.
// `record` has in_pod. Pure.
Json network_data(const Record& record);

}  // namespace vfrail

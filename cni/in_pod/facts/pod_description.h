// PodDescription: /run/vfrail/pod.json, in which vfrail-cni describes to a pod what it has given it: what the
// pod should find. Pure; vfrail-cni writes the file.
#pragma once

#include "common/ip_address.h"
#include "common/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vfrail::pod {

// Below the pod's root.
inline constexpr const char* kPodDescription = "run/vfrail/pod.json";

struct DescribedInterface {
  std::string name;     // "net1"
  std::string network;  // of its CNI configuration
  std::string device;   // "0000:03:02.1"
  std::string pf;       // empty for none, as are the next three
  std::string rdma;     // "mlx5_2"
  std::string uverbs;   // "uverbs2"
  std::string link_layer;
  std::string mac;
  uint32_t mtu = 0;
  std::vector<IpAddress> addresses;
  std::optional<uint32_t> gid_index;
  std::optional<uint32_t> numa_node;
};

struct PodDescription {
  std::vector<DescribedInterface> interfaces;
};

// The error names the key. Unknown keys are a later version's and are left alone; an unknown version is an
// error.
Result<PodDescription> parse_pod_description(std::string_view text);

}  // namespace vfrail::pod

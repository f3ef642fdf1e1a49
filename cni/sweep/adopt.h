// Attachments that other CNI plugins have made: what their files say (parse_...: pure, one file a format),
// and adopting them with a record of vfrail, so that a node changes plugins while its pods run. Their files
// are only read: if the node goes back to those plugins, they find their state.
#pragma once

#include "cni/sweep/sweep.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vfrail::cni {

// An entry of libcni's cache, which runtimes and Multus keep for each attachment (cachedInfo, libcni/api.go).
struct CachedAttachment {
  AttachmentName name;
  std::string network;
  std::string netns;
  std::string cni_args;
  std::vector<Json> plugins;  // the configuration of each plugin of the network, as it is sent to it
};

// A device as its state file says that it was in the host; fields that it does not have are empty.
struct OtherState {
  std::optional<DeviceId> device;
  std::string network;
  IfName host_name;
  std::optional<MacAddress> mac;
  std::optional<uint32_t> mtu;
  VfSettings vf;
  std::vector<std::string> rdma;  // names in the pod
};

// Reads the name of the interface in the host.
Result<IfName> read_host_name(ObjectReader& state, std::string_view key);

// The parsers return Errc::protocol for a wrong format. Every text that becomes a name is checked.
Result<CachedAttachment> parse_cni_cache(std::string_view text);
Result<OtherState> parse_sriov_state(std::string_view text);     // sriov-cni
Result<OtherState> parse_ib_sriov_state(std::string_view text);  // ib-sriov-cni
Result<std::string> parse_rdma_state(std::string_view text);     // rdma-cni: the device's name in the pod

// The part of a sweep about attachments of other plugins: with options.adopt they get a record, else they are
// reported.
Result<> sweep_others(World& world, const SweepOptions& options, SweepReport& report);

}  // namespace vfrail::cni

// The state of ib-sriov-cni, /var/lib/cni/ib-sriov/CONTAINER-IFNAME, and of rdma-cni,
// /var/lib/cni/rdma/NETWORK-CONTAINER-IFNAME, which the first one has inside (RdmaNetState).
#include "cni/sweep/adopt.h"

#include <algorithm>

namespace vfrail::cni {

namespace {

// An RDMA device's name is never a path here, but goes into the record and into messages.
Result<std::string> read_rdma_name(ObjectReader& state) {
  constexpr std::string_view kKey = "containerRdmaDevName";
  const auto name = TRY(state.text(kKey)).value_or("");
  const bool plain = name.size() < 64 && std::all_of(name.begin(), name.end(), [](char c) {
                       return c > ' ' && c < 0x7f && c != '/';
                     });  // IB_DEVICE_NAME_MAX is 64
  if (!plain || name.starts_with(".")) return state.error(kKey, "no name of an RDMA device");
  return name;
}

}  // namespace

Result<std::string> parse_rdma_state(std::string_view text) {
  const Json json = TRY(Json::parse_object(text));
  ObjectReader state(*json.as_object(), "");
  return read_rdma_name(state);
}

Result<OtherState> parse_ib_sriov_state(std::string_view text) {
  const Json json = TRY(Json::parse_object(text));
  ObjectReader state(*json.as_object(), "");
  OtherState out;
  out.network = TRY(state.text("name")).value_or("");
  out.device = TRY(DeviceId::parse(TRY(state.text("deviceID")).value_or("")), "deviceID");
  out.host_name = TRY(read_host_name(state, "HostIFNames"));
  const auto guid = parse_guid(TRY(state.text("HostIFGUID")).value_or(""));
  // Zero is not a GUID that can be restored.
  if (guid && *guid != 0) out.vf.node_guid = out.vf.port_guid = guid;
  // ib-sriov-cni does not store the old value, and its DEL sets this one.
  if (!TRY(state.text("link_state")).value_or("").empty()) out.vf.link_state = VfLinkState::automatic;
  if (const Json::Object* rdma = TRY(state.object("RdmaNetState"))) {
    ObjectReader reader(*rdma, "RdmaNetState");
    const std::string name = TRY(read_rdma_name(reader));
    if (!name.empty()) out.rdma = {name};
  }
  return out;
}

}  // namespace vfrail::cni

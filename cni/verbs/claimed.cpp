#include "cni/verbs/claimed.h"

#include "common/container/allocated_unit.h"
#include "common/container/claim_record.h"
#include "common/container/device_metadata.h"

namespace vfrail::cni {

namespace {

std::string arg_of(const Request& request, const char* key) {
  const auto at = request.args.find(key);
  return at == request.args.end() ? std::string() : at->second;
}

ClaimingPod pod_of_request(const Request& request) {
  return {arg_of(request, "K8S_POD_NAME"), arg_of(request, "K8S_POD_UID")};
}

// Whether it is the claim's device, or of several the first: the metadata has room for one interface.
Result<bool> is_of(const ClaimRecord::Device& claimed, const DeviceId& device, const World& world) {
  if (!claimed.share.empty()) return false;
  if (!is_unit(claimed.unit)) return claimed.unit == device.text();
  for (const AllocatedUnit& unit : TRY(read_allocated_units(world.run_folder, claimed.unit))) {
    if (unit.resource == claimed.resource) return !unit.devices.empty() && unit.devices.front() == device;
  }
  return false;
}

Result<> add_to_claim(const ClaimRecord& claim, const Record& record, const World& world) {
  for (size_t i = 0; has_metadata(claim) && i < claim.requests.size(); ++i) {
    for (const ClaimRecord::Device& device : claim.requests[i].devices) {
      if (TRY(is_of(device, *record.device, world)))
        TRY(add_network_data(world.run_folder, claim, i, device.device, network_data(record)));
    }
  }
  return {};
}

Result<> add_to_claims(const Request& request, const Record& record, const World& world) {
  const std::string name_space = arg_of(request, "K8S_POD_NAMESPACE");
  for (const ClaimRecord& claim : TRY(claims_of_pod(world.run_folder, name_space, pod_of_request(request))))
    TRY(add_to_claim(claim, record, world), claim.text());
  return {};
}

}  // namespace

void describe_to_claims(const Request& request, const Record& record, World& world) {
  if (!record.device || !record.in_pod) return;
  const auto done = add_to_claims(request, record, world);
  if (!done)
    world.log.warning("the metadata of the claim's devices does not have this attachment",
                      {{"reason", done.error().text}, {"id", done.error().id_text()}});
}

Result<std::vector<ClaimedDevice>> read_claimed(const Request& request, const World& world) {
  std::vector<ClaimedDevice> out;
  for (const ClaimRecord& record :
       TRY(claims_of_pod(world.run_folder, arg_of(request, "K8S_POD_NAMESPACE"), pod_of_request(request)),
           "claims of the pod")) {
    const auto devices = TRY(devices_of_claim(world.run_folder, record));
    out.insert(out.end(), devices.begin(), devices.end());
  }
  return out;
}

}  // namespace vfrail::cni

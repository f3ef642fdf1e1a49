#include "cni/verbs/claimed.h"

#include "common/container/allocated_unit.h"
#include "common/container/claim_record.h"
#include "common/errors/error_id.h"

#include <algorithm>
#include <utility>

namespace vfrail::cni {

namespace {

std::string arg_of(const Request& request, const char* key) {
  const auto at = request.args.find(key);
  return at == request.args.end() ? std::string() : at->second;
}

Result<> add_unit(const ClaimRecord& record, const ClaimRecord::Device& device, const World& world,
                  std::vector<ClaimedDevice>& out) {
  const auto units = TRY(read_allocated_units(world.run_folder, device.unit), "devices of " + device.unit);
  const auto unit = std::find_if(units.begin(), units.end(),
                                 [&](const AllocatedUnit& one) { return one.resource == device.resource; });
  if (unit == units.end())
    return Error{Errc::not_found, 0,
                 "the devices of " + device.unit + " of " + record.text() +
                     " are not known on this node; delete the pod, so that its claim is prepared again",
                 ErrorId::unit_unknown};
  for (size_t rail = 0; rail < unit->devices.size(); ++rail)
    out.push_back({unit->devices[rail], record.claim.text(), device.resource, rail});
  return {};
}

Result<> add_device(const ClaimRecord& record, const ClaimRecord::Device& device, const World& world,
                    std::vector<ClaimedDevice>& out) {
  if (!device.share.empty()) return {};
  if (is_unit(device.unit)) return add_unit(record, device, world, out);
  out.push_back({TRY(DeviceId::parse(device.unit), record.text()), record.claim.text(), device.resource, {}});
  return {};
}

}  // namespace

Result<std::vector<ClaimedDevice>> read_claimed(const Request& request, const World& world) {
  const ClaimingPod pod{arg_of(request, "K8S_POD_NAME"), arg_of(request, "K8S_POD_UID")};
  std::vector<ClaimedDevice> out;
  for (const ClaimRecord& record :
       TRY(claims_of_pod(world.run_folder, arg_of(request, "K8S_POD_NAMESPACE"), pod), "claims of the pod")) {
    for (const ClaimRecord::Request& of_request : record.requests) {
      for (const ClaimRecord::Device& device : of_request.devices)
        TRY(add_device(record, device, world, out));
    }
  }
  return out;
}

}  // namespace vfrail::cni

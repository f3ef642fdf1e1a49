#include "common/container/claimed_device.h"

#include "common/container/allocated_unit.h"
#include "common/errors/error_id.h"

#include <algorithm>

namespace vfrail {

namespace {

Result<> add_claimed_unit(const ClaimRecord& record, const ClaimRecord::Device& device,
                          const std::string& run_dir, std::vector<ClaimedDevice>& out) {
  const auto units = TRY(read_allocated_units(run_dir, device.unit), "devices of " + device.unit);
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

Result<> add_claimed(const ClaimRecord& record, const ClaimRecord::Device& device, const std::string& run_dir,
                     std::vector<ClaimedDevice>& out) {
  if (!device.share.empty()) return {};
  if (is_unit(device.unit)) return add_claimed_unit(record, device, run_dir, out);
  out.push_back({TRY(DeviceId::parse(device.unit), record.text()), record.claim.text(), device.resource, {}});
  return {};
}

}  // namespace

Result<std::vector<ClaimedDevice>> devices_of_claim(const std::string& run_dir, const ClaimRecord& record) {
  std::vector<ClaimedDevice> out;
  for (const ClaimRecord::Request& request : record.requests) {
    for (const ClaimRecord::Device& device : request.devices) TRY(add_claimed(record, device, run_dir, out));
  }
  return out;
}

}  // namespace vfrail

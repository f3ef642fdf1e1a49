#include "plugin/dra/claim_metadata.h"

#include "common/container/device_metadata.h"
#include "plugin/dra/port_details.h"

#include <algorithm>
#include <utility>

namespace vfrail::plugin {

namespace {

DescribedDevice describe(const ClaimRecord::Device& device, const std::vector<PublishedPool>& pools,
                         const OfferOptions& options, const PortsByFunction& ports) {
  DescribedDevice out{device.device, Json::object(), {}};
  const auto pool = std::find_if(pools.begin(), pools.end(),
                                 [&](const auto& one) { return one->resource() == device.resource; });
  if (pool == pools.end()) return out;
  Json attributes = find_attributes(*pool, device.device, options, ports);
  if (!attributes.is_null()) out.attributes = std::move(attributes);
  return out;
}

}  // namespace

Result<> describe_devices(const ClaimRecord& record, const std::vector<PublishedPool>& pools,
                          const OfferOptions& options, const AllocatePlaces& places) {
  if (!has_metadata(record)) return {};
  PortsByFunction ports;
  read_port_details(places.sys, pools, ports);
  for (size_t i = 0; i < record.requests.size(); ++i) {
    std::vector<DescribedDevice> devices;
    for (const ClaimRecord::Device& device : record.requests[i].devices)
      devices.push_back(describe(device, pools, options, ports));
    TRY(write_metadata(places.run_dir, record, i, devices), "write the metadata of its devices");
  }
  return {};
}

}  // namespace vfrail::plugin

// Rails: a unit of several devices, for which Multus makes one call of vfrail-cni, is so many attachments.
// Each has an interface, a configuration and a record of its own, so that DEL, GC and a sweep restore what is
// there, whatever became of the others. Pure.
#pragma once

#include "cni/conf/request.h"
#include "cni/conf/result.h"
#include "common/container/allocated_unit.h"

#include <string>
#include <vector>

namespace vfrail::cni {

struct RailRequest {
  DeviceId device;
  Request request;   // as if Multus had asked for this device alone
  std::string text;  // how messages name it: "rail 3 (net1r3, 0000:65:00.3)"
};

// `ipam` of the network, with the keys of the rail in place of its own.
Json ipam_of(Json ipam, const Json& of_rail);

// The rails of ADD, in their order; `tables` are those that the pod has in use (source routing). The first
// has CNI_IFNAME. Errc::invalid: a key that several interfaces cannot share, or that has too few values.
Result<std::vector<RailRequest>> plan_rails(const Request& request, const NetConf& conf,
                                            const AllocatedUnit& unit, const std::vector<uint32_t>& tables);

// The request for a rail that has a record, with the configuration of its ADD and the prevResult of
// `request`.
Request request_of(const Record& record, const Request& request);

// The request for the interface of a rail of which neither device nor record is known: an address may have
// been assigned to it.
Request request_without_device(const Request& request, const RailSettings& settings, size_t rail);

// The request of a GC for an IPAM plugin, about that network, in which `rails` are valid, too: they have
// addresses, and the runtime does not know them.
Request with_valid(const Request& request, const std::string& network,
                   const std::vector<AttachmentName>& rails);

// One result of all rails, in their order, in the version of the first.
AddResult merged_results(std::vector<AddResult> results);

}  // namespace vfrail::cni

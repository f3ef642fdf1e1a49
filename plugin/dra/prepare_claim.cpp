#include "plugin/dra/prepare_claim.h"

#include "common/container/device_metadata.h"
#include "common/errors/error_id.h"
#include "common/files.h"
#include "common/node/attachments.h"
#include "common/text.h"
#include "plugin/device/allocate/attached_devices.h"
#include "plugin/device/allocate/cdi.h"
#include "plugin/device/allocate/cdi_folder.h"
#include "plugin/device/allocate/prepared_record.h"
#include "plugin/dra/claim_metadata.h"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <set>
#include <unistd.h>
#include <utility>

namespace vfrail::plugin {

namespace {

std::string spec_path(const std::string& uid, const std::string& request, const AllocatePlaces& places) {
  return places.cdi_dir + "/" + claim_spec(uid, request).file_name();
}

Result<> check_cdi(const AllocatePlaces& places) {
  if (!places.cdi_dir.empty()) return {};
  return Error{
      Errc::unsupported, 0,
      "devices of claims go by CDI alone, and vfrail serve uses no CDI folder on this node: enable CDI "
      "in the container runtime (containerd 1.7 or later, CRI-O), or start it with --use-cdi=true; its "
      "log says why it does not",
      ErrorId::cdi_not_supported};
}

Result<ClaimRecord::Device> make_device(const ClaimedRequest& request, const std::string& device,
                                        const OfferedUnits& offered) {
  const auto at = offered.by_name.find(device);
  if (at == offered.by_name.end())
    return Error{Errc::not_found, 0,
                 "request " + request.name + " has device " + device +
                     ", which this node does not offer now: it has vanished, or the configuration has "
                     "changed since; delete the pod, so that it gets another",
                 ErrorId::not_advertised};
  const OfferedUnit& unit = at->second;
  const auto share = request.shares.find(device);
  // An API server that does not keep allowMultipleAllocations allocates the device as a whole.
  if (unit.step != 0 && share == request.shares.end())
    return Error{Errc::unsupported, 0,
                 "request " + request.name + " has device " + device +
                     " and no share of it (shareID): the API server does not keep "
                     "allowMultipleAllocations (DRAConsumableCapacity, on by default from Kubernetes 1.36)",
                 ErrorId::claim_refused};
  ClaimRecord::Device out{device, unit.pool->resource(), unit.unit};
  if (unit.step == 0) return out;
  out.share = share->second;
  out.step = unit.step;
  return out;
}

Result<ClaimRecord> make_record(const Claim& claim, const OfferedUnits& offered) {
  ClaimRecord out{.claim = claim.name,
                  .pod = claim.pod,
                  .node_pool = claim.node_pool,
                  .driver = claim.driver,
                  .pod_claim = claim.pod_claim,
                  .requests = {},
                  .for_extended_resource = claim.for_extended_resource,
                  .is_chained = claim.is_chained};
  for (const ClaimedRequest& request : claim.requests) {
    ClaimRecord::Request& named = out.requests.emplace_back(ClaimRecord::Request{request.name, {}});
    for (const std::string& device : request.devices)
      named.devices.push_back(TRY(make_device(request, device, offered)));
  }
  return out;
}

const PublishedPool* find_pool(const std::vector<PublishedPool>& pools, const std::string& resource) {
  const auto at = std::find_if(pools.begin(), pools.end(),
                               [&](const auto& pool) { return pool->resource() == resource; });
  return at == pools.end() ? nullptr : &*at;
}

// A container for each request, because each has an environment of its own. No value: a device is not offered
// any more.
std::optional<std::vector<ContainerUnits>> find_units(const ClaimRecord& record,
                                                      const std::vector<PublishedPool>& pools) {
  std::vector<ContainerUnits> out;
  for (const ClaimRecord::Request& request : record.requests) {
    ContainerUnits& units = out.emplace_back();
    for (const ClaimRecord::Device& device : request.devices) {
      const PublishedPool* pool = find_pool(pools, device.resource);
      if (pool == nullptr || pool->find_unit(device.unit) == nullptr) return std::nullopt;
      auto at = std::find_if(units.begin(), units.end(),
                             [&](const UnitsOfPool& one) { return one.pool->resource() == device.resource; });
      if (at == units.end()) at = units.insert(at, {*pool, {}});
      // Lanes of a shared device are one unit.
      if (std::find(at->units.begin(), at->units.end(), device.unit) == at->units.end())
        at->units.push_back(device.unit);
    }
  }
  return out;
}

std::vector<std::string> devices_of(const ClaimRecord::Device& device, const PreparedFiles& files) {
  for (const AllocatedUnit& unit : files.units) {
    if (unit.unit != device.unit || unit.resource != device.resource) continue;
    std::vector<std::string> out;
    for (const DeviceId& id : unit.devices) out.push_back(id.text());
    return out;
  }
  return {device.unit};
}

// What is about all devices of a request, and so in no device's spec. A pod with extended resources gets what
// it gets of the device plugin, and nothing more.
ContainerEdits edits_of_request(const ClaimRecord& record, size_t index, ContainerEdits edits,
                                const AllocatePlaces& places) {
  std::vector<std::string> devices;
  for (const std::string& id : edits.cdi_devices) devices.push_back(id.substr(id.find('=') + 1));
  edits.cdi_devices.clear();
  if (has_metadata(record)) {
    edits.mounts.push_back(
        {metadata_path(places.run_dir, record, index), metadata_in_container(record, index), true});
  }
  const auto& requested = record.requests[index].devices;
  const bool shared = !requested.empty() && !requested.front().share.empty();
  if (record.for_extended_resource || shared) return edits;
  // In the order of the request, as the resource's own variable has them.
  auto place = devices.begin();
  for (const ClaimRecord::Device& device : requested) {
    const auto at = std::find(place, devices.end(), device.unit);
    if (at != devices.end()) std::rotate(place++, at, std::next(at));
  }
  edits.env[request_variable(record.requests[index].name)] = joined(devices, ",");
  return edits;
}

Result<> write_claim_specs(const ClaimRecord& record, const std::vector<ContainerEdits>& edits,
                           const AllocatePlaces& places) {
  for (size_t i = 0; i < record.requests.size(); ++i) {
    CdiSpec spec = claim_spec(record.claim.uid, record.requests[i].name);
    spec.edits = edits_of_request(record, i, edits.at(i), places);
    if (spec.edits == ContainerEdits()) continue;
    if (record.is_chained) spec.edits.hooks.push_back(claim_hook(record.claim.uid, places.cni_dir));
    const auto there = read_cdi_spec(places.cdi_dir + "/" + spec.file_name());
    if (there && *there && **there == spec) continue;
    TRY(with_id(ErrorId::cdi_spec, put_cdi_spec(places.cdi_dir, spec)),
        "write the CDI spec of request " + record.requests[i].name);
  }
  return {};
}

// Of a shared device, whose unit stands for several: those of its resource.
bool is_spec_of(const std::string& cdi_id, const ClaimRecord::Device& device, const PreparedFiles& files) {
  if (!device.share.empty()) {
    std::string resource = device.resource;
    std::replace(resource.begin(), resource.end(), '/', ':');
    return cdi_id.find("=" + resource + ":") != std::string::npos;
  }
  const std::vector<std::string> ids = devices_of(device, files);
  return std::any_of(ids.begin(), ids.end(),
                     [&](const std::string& id) { return cdi_id.ends_with("=" + id); });
}

// A container gets all devices of a request, so each spec is named once.
std::vector<PreparedDevice> answer_request(const ClaimRecord& record, size_t index,
                                           const ContainerEdits& edits, const PreparedFiles& files,
                                           const AllocatePlaces& places) {
  const ClaimRecord::Request& request = record.requests[index];
  const bool has_spec = edits_of_request(record, index, edits, places) != ContainerEdits();
  std::vector<PreparedDevice> out;
  std::set<std::string> named;
  for (const ClaimRecord::Device& device : request.devices) {
    PreparedDevice one{request.name, record.node_pool, device.device, {}, device.share};
    if (out.empty() && has_spec) one.cdi_ids.push_back(claim_cdi_id(record.claim.uid, request.name));
    for (const std::string& id : edits.cdi_devices) {
      if (is_spec_of(id, device, files) && named.insert(id).second) one.cdi_ids.push_back(id);
    }
    out.push_back(std::move(one));
  }
  return out;
}

std::vector<PreparedDevice> answer(const ClaimRecord& record, const PreparedRecord& prepared,
                                   const AllocatePlaces& places) {
  std::vector<PreparedDevice> out;
  for (size_t i = 0; i < record.requests.size(); ++i) {
    auto more = answer_request(record, i, prepared.edits->at(i), prepared.files, places);
    out.insert(out.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }
  return out;
}

Result<PreparedRecord> read_complete(const ClaimRecord& record, const AllocatePlaces& places) {
  auto prepared = TRY(read_prepared(places.run_dir, record.claim.uid));
  if (prepared && prepared->edits && prepared->edits->size() == record.requests.size())
    return *std::move(prepared);
  return Error{Errc::not_found, 0, "there is no complete record of what is prepared for " + record.text(),
               ErrorId::record_damaged};
}

struct Rival {
  ClaimRecord record;
  std::string device;  // that both have
};

Result<std::optional<Rival>> find_other(const ClaimRecord& ours, const AllocatePlaces& places) {
  std::set<std::string> names;
  for (const ClaimRecord::Request& request : ours.requests) {
    for (const ClaimRecord::Device& device : request.devices) {
      if (device.share.empty()) names.insert(device.device);
    }
  }
  for (const std::string& uid : TRY(list_claims(places.run_dir))) {
    if (uid == ours.claim.uid) continue;
    // One that cannot be read does not stop all other claims of the node.
    const auto other = read_claim_record(places.run_dir, uid);
    if (!other || !*other) continue;
    for (const ClaimRecord::Request& request : (*other)->requests) {
      for (const ClaimRecord::Device& device : request.devices) {
        if (device.share.empty() && names.contains(device.device))
          return std::optional(Rival{**other, device.device});
      }
    }
  }
  return std::optional<Rival>();
}

Result<> check_no_other(const ClaimRecord& record, const AllocatePlaces& places) {
  const auto rival = TRY(find_other(record, places));
  if (!rival) return {};
  return Error{Errc::busy, 0,
               "device " + rival->device + " is prepared for " + rival->record.text() +
                   ", which kubelet has to unprepare first",
               ErrorId::device_in_use};
}

Result<std::vector<PreparedDevice>> prepare_new(const ClaimRecord& record, const OfferedUnits& offered,
                                                const AllocatePlaces& places) {
  TRY(check_no_other(record, places));
  const auto units = find_units(record, offered.pools);
  if (!units)
    return Error{Errc::not_found, 0, "the devices of this node are just changing; try again",
                 ErrorId::not_advertised};
  const auto edits = TRY(prepare_for(record.claim.uid, *units, places));
  TRY(describe_devices(record, offered.pools, offered.options, places));
  TRY(write_claim_specs(record, edits, places));
  return answer(record, TRY(read_complete(record, places)), places);
}

// Each step after the one before it: what is left can be tried again.
Result<> remove_all(const std::string& uid, const std::optional<ClaimRecord>& record,
                    const AllocatePlaces& places) {
  if (record && !places.cdi_dir.empty()) {
    for (const ClaimRecord::Request& request : record->requests)
      TRY(remove_file(spec_path(uid, request.name, places)));
  }
  if (record) TRY(remove_metadata(places.run_dir, *record));
  TRY(release(uid, places));
  return remove_claim(places.run_dir, uid);
}

std::vector<std::string> devices_of(const std::optional<ClaimRecord>& record,
                                    const std::optional<PreparedRecord>& prepared) {
  std::vector<std::string> out;
  if (prepared) {
    for (const AllocatedUnit& unit : prepared->files.units) {
      for (const DeviceId& id : unit.devices) out.push_back(id.text());
    }
    for (const DeviceId& id : prepared->files.allocated_nodes) out.push_back(id.text());
  }
  if (record) {
    for (const ClaimRecord::Request& request : record->requests) {
      for (const ClaimRecord::Device& device : request.devices) {
        if (device.share.empty()) out.push_back(device.unit);
      }
    }
  }
  return out;
}

Result<> check_returned(const std::string& uid, const std::vector<std::string>& devices,
                        const AllocatePlaces& places) {
  if (devices.empty()) return {};
  const auto attached = TRY(attached_devices(places));
  for (const std::string& device : devices) {
    const auto by = attached.find(device);
    if (by == attached.end()) continue;
    const auto record = Attachments(places.cni_state_dir).load(by->second);
    const std::string who = record && *record
                                ? attachment_text(**record) + ", in network namespace " + (*record)->netns
                                : by->second.text();
    return Error{
        Errc::busy, 0,
        "device " + device + " of claim " + uid + " is still attached as " + who +
            ": vfrail-cni's DEL has to return it first; it comes when the container runtime stops the "
            "pod's sandbox, and its log says why it fails",
        ErrorId::device_in_use};
  }
  return {};
}

// Where the devices are not offered any more nothing can be worked out.
Result<> check_files(const PreparedRecord& prepared, const ClaimRecord& record,
                     const AllocatePlaces& places) {
  std::vector<std::string> paths = prepared.files.paths;
  for (size_t i = 0; i < record.requests.size(); ++i) {
    if (has_metadata(record)) paths.push_back(metadata_path(places.run_dir, record, i));
    if (edits_of_request(record, i, prepared.edits->at(i), places) != ContainerEdits())
      paths.push_back(spec_path(record.claim.uid, record.requests[i].name, places));
  }
  for (const std::string& path : paths) {
    if (::access(path.c_str(), F_OK) == 0 || errno != ENOENT) continue;
    return Error{Errc::not_found, 0,
                 path + " is missing, and cannot be written anew: this node does not offer the devices of " +
                     record.text() + " now; delete the pod",
                 ErrorId::cdi_spec};
  }
  return {};
}

}  // namespace

Result<std::vector<PreparedDevice>> prepare_claim(const Claim& claim, const OfferedUnits& offered,
                                                  const AllocatePlaces& places) {
  if (claim.requests.empty()) return std::vector<PreparedDevice>();
  const std::string what = "prepare claim " + claim.name.text();
  TRY(check_cdi(places), what);
  if (const auto known = TRY(find_prepared_claim(claim.name.uid, places), what))
    return prepare_again(*known, offered, places);
  const ClaimRecord record = TRY(make_record(claim, offered), what);
  TRY(write_claim(places.run_dir, record), what);
  auto out = prepare_new(record, offered, places);
  if (out) return out;
  const auto removed = remove_all(claim.name.uid, record, places);
  return std::move(out.error()).in(what).and_also(removed ? "" : removed.error().text);
}

Result<std::optional<ClaimRecord>> find_rival(const Claim& claim, const AllocatePlaces& places) {
  ClaimRecord ours{.claim = claim.name, .pod = claim.pod, .node_pool = claim.node_pool, .requests = {}};
  for (const ClaimedRequest& request : claim.requests) {
    ClaimRecord::Request& named = ours.requests.emplace_back(ClaimRecord::Request{request.name, {}});
    for (const std::string& device : request.devices) {
      if (!request.shares.contains(device)) named.devices.push_back({device, {}, {}});
    }
  }
  auto rival = TRY(find_other(ours, places));
  if (!rival) return std::optional<ClaimRecord>();
  return std::optional(std::move(rival->record));
}

Result<std::optional<ClaimRecord>> find_prepared_claim(const std::string& uid, const AllocatePlaces& places) {
  auto record = TRY(read_claim_record(places.run_dir, uid));
  if (!record) return record;
  const auto prepared = TRY(read_prepared(places.run_dir, uid));
  if (!prepared || !prepared->edits || prepared->edits->size() != record->requests.size()) record.reset();
  return record;
}

Result<std::vector<PreparedDevice>> prepare_again(const ClaimRecord& record, const OfferedUnits& offered,
                                                  const AllocatePlaces& places) {
  const std::string what = "prepare claim " + record.claim.text() + " again";
  TRY(check_cdi(places), what);
  const auto units = find_units(record, offered.pools);
  if (!units) {
    const PreparedRecord prepared = TRY(read_complete(record, places), what);
    TRY(check_files(prepared, record, places), what);
    return answer(record, prepared, places);
  }
  const auto edits = TRY(prepare_for(record.claim.uid, *units, places), what);
  TRY(describe_devices(record, offered.pools, offered.options, places), what);
  TRY(write_claim_specs(record, edits, places), what);
  return answer(record, TRY(read_complete(record, places), what), places);
}

Result<> unprepare_claim(const std::string& uid, const AllocatePlaces& places) {
  const auto record = TRY(read_claim_record(places.run_dir, uid));
  const auto prepared = TRY(read_prepared(places.run_dir, uid));
  TRY(check_returned(record ? record->claim.text() : uid, devices_of(record, prepared), places));
  return remove_all(uid, record, places);
}

}  // namespace vfrail::plugin

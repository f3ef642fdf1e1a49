#include "plugin/dra/claim_status.h"

#include "common/container/allocated_unit.h"
#include "common/container/device_metadata.h"
#include "common/node/attachments.h"
#include "common/rfc3339.h"
#include "plugin/device/allocate/attached_devices.h"
#include "plugin/device/allocate/prepared_record.h"

#include <algorithm>
#include <optional>
#include <sys/stat.h>
#include <utility>

namespace vfrail::plugin {

namespace {

using Time = std::chrono::system_clock::time_point;

Json ready(const char* reason, const std::string& message, Time since) {
  return Json::object()
      .set("type", "Ready")
      .set("status", "True")
      .set("reason", reason)
      .set("message", message)
      .set("lastTransitionTime", rfc3339(since));
}

// An ADD that is at work has not filled in what the pod got, and one of a pod of another name is not of this
// claim.
bool is_attached_for(const ClaimRecord& claim, const Record& record) {
  const RecordedPod pod = pod_of(record);
  return record.in_pod && (pod.name.empty() || pod.name == claim.pod.name);
}

// Two pools can have a bundle of one name.
std::string key_of(const std::string& resource, const std::string& unit) { return resource + " " + unit; }

std::vector<const WrittenRecord*> find_attached(const PreparedFacts& facts,
                                                const ClaimRecord::Device& device) {
  const auto unit = facts.devices_of.find(key_of(device.resource, device.unit));
  const std::vector<std::string> ids =
      unit == facts.devices_of.end() ? std::vector<std::string>{device.unit} : unit->second;
  std::vector<const WrittenRecord*> out;
  for (const std::string& id : ids) {
    const auto at = facts.attached.find(id);
    if (at != facts.attached.end() && is_attached_for(facts.claim, at->second.record))
      out.push_back(&at->second);
  }
  return out;
}

// Null: there is nothing to say of it.
Json device_status(const PreparedFacts& facts, const ClaimRecord::Device& device, const std::string& driver) {
  Json out = Json::object();
  out.set("driver", driver).set("pool", facts.claim.node_pool).set("device", device.device);
  Json conditions = Json::array();
  if (!device.share.empty()) {
    out.set("shareID", device.share);
    conditions.push(ready("Prepared", "a share of " + device.resource + " is prepared", facts.prepared));
    return out.set("conditions", std::move(conditions));
  }
  const auto attached = find_attached(facts, device);
  if (attached.empty()) return {};
  // Of a bundle the first rail's interface: the API has room for one.
  std::string names;
  Time since = attached.front()->written;
  for (const WrittenRecord* one : attached) {
    names += (names.empty() ? "" : ", ") + one->record.attachment.ifname.text();
    since = std::max(since, one->written);
  }
  conditions.push(ready("Attached", "attached as " + names, since));
  out.set("conditions", std::move(conditions));
  return out.set("networkData", network_data(attached.front()->record));
}

// No value: it is not there.
std::optional<Time> written_at(const std::string& path) {
  struct stat there {};
  if (::stat(path.c_str(), &there) != 0) return std::nullopt;
  return Time(std::chrono::duration_cast<Time::duration>(std::chrono::seconds(there.st_mtim.tv_sec)));
}

// What nobody attaches needs no record of vfrail-cni.
void add_attached(const Attachments& attachments, const AttachedDevices& owners, const std::string& device,
                  PreparedFacts& out) {
  const auto owner = owners.find(device);
  if (owner == owners.end()) return;
  const auto written = written_at(attachments.record_path(owner->second));
  auto record = attachments.load(owner->second);
  if (written && record && *record) out.attached.insert_or_assign(device, WrittenRecord{**record, *written});
}

std::optional<PreparedFacts> read_facts(const std::string& uid, const AttachedDevices& owners,
                                        const AllocatePlaces& places) {
  auto claim = read_claim_record(places.run_dir, uid);
  if (!claim || !*claim) return std::nullopt;
  const auto prepared = read_prepared(places.run_dir, uid);
  // While it is being prepared nothing of it is ready.
  if (!prepared || !*prepared || !(*prepared)->edits) return std::nullopt;
  PreparedFacts out{.claim = **std::move(claim), .prepared = {}, .devices_of = {}, .attached = {}};
  out.prepared = written_at(places.run_dir + "/claims/" + uid + ".json").value_or(Time());
  for (const AllocatedUnit& unit : (*prepared)->files.units) {
    for (const DeviceId& id : unit.devices)
      out.devices_of[key_of(unit.resource, unit.unit)].push_back(id.text());
  }
  const Attachments attachments(places.cni_state_dir);
  for (const ClaimRecord::Request& request : out.claim.requests) {
    for (const ClaimRecord::Device& device : request.devices)
      add_attached(attachments, owners, device.unit, out);
  }
  for (const auto& [unit, ids] : out.devices_of) {
    for (const std::string& id : ids) add_attached(attachments, owners, id, out);
  }
  return out;
}

}  // namespace

Json status_devices(const PreparedFacts& facts, const std::string& driver) {
  Json out = Json::array();
  for (const ClaimRecord::Request& request : facts.claim.requests) {
    for (const ClaimRecord::Device& device : request.devices) {
      if (Json entry = device_status(facts, device, driver); !entry.is_null()) out.push(std::move(entry));
    }
  }
  return out;
}

Result<std::map<std::string, ClaimStatus>> read_claim_statuses(const AllocatePlaces& places,
                                                               const std::string& driver) {
  std::map<std::string, ClaimStatus> out;
  const AttachedDevices owners = TRY(attached_devices(places));
  for (const std::string& uid : TRY(list_claims(places.run_dir))) {
    if (const auto facts = read_facts(uid, owners, places))
      out.emplace(uid, ClaimStatus{facts->claim.claim, status_devices(*facts, driver)});
  }
  return out;
}

}  // namespace vfrail::plugin

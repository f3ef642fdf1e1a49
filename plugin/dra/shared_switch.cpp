#include "plugin/dra/shared_switch.h"

#include "common/errors/error_id.h"
#include "common/files.h"
#include "common/json.h"
#include "common/text.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace vfrail::plugin {

namespace {

constexpr int64_t kSchema = 1;
// A configuration has a few shared pools.
constexpr size_t kMaxWaysText = size_t{256} << 10;

constexpr const char* kNotAnswered =
    "kubelet has not answered yet which pods have a share by the device plugin";
constexpr const char* kHeld =
    "pods have shares by the device plugin; it moves to claims when they have ended";

// Beside the records of claims, which end in ".json": the folder is one that the container has of the host.
std::string folder_in(const std::string& run_dir) { return run_dir + "/claims"; }
std::string file_in(const std::string& run_dir) { return folder_in(run_dir) + "/shared-pools"; }

Json format_ways(const std::map<std::string, SharedWay>& ways) {
  Json pools = Json::array();
  for (const auto& [resource, way] : ways)
    pools.push(
        Json::object().set("resource", resource).set("by_claims", way.by_claims).set("reason", way.reason));
  return Json::object().set("schema", kSchema).set("pools", std::move(pools));
}

Result<std::map<std::string, SharedWay>> read_ways(const std::string& run_dir) {
  std::map<std::string, SharedWay> out;
  const auto text = TRY(read_file(file_in(run_dir), kMaxWaysText));
  if (!text) return out;
  const Json json = TRY(Json::parse_object(*text, kMaxWaysText), file_in(run_dir));
  ObjectReader reader(*json.as_object(), file_in(run_dir));
  TRY(reader.schema(kSchema));
  const Json::Array* pools = TRY(reader.array("pools"));
  for (const Json& entry : pools == nullptr ? Json::Array() : *pools) {
    if (entry.as_object() == nullptr) return reader.error("pools", "must be a list of objects");
    ObjectReader pool(*entry.as_object(), "pools");
    const auto resource = TRY(pool.text("resource"));
    if (!resource) return pool.error("resource", "missing");
    SharedWay& way = out[*resource];
    way.by_claims = TRY(pool.boolean("by_claims")).value_or(false);
    way.reason = TRY(pool.text("reason")).value_or("");
  }
  return out;
}

size_t count_shares(const std::string& resource, const std::vector<ClaimRecord>& claims) {
  size_t out = 0;
  for (const ClaimRecord& claim : claims) {
    for (const ClaimRecord::Request& request : claim.requests)
      out += static_cast<size_t>(
          std::count_if(request.devices.begin(), request.devices.end(),
                        [&](const auto& one) { return !one.share.empty() && one.resource == resource; }));
  }
  return out;
}

}  // namespace

SharedWay decide(const SharedFacts& facts, const SharedWay& before) {
  switch (facts.sharing) {
    case Sharing::unknown:
      // The agent is restarted at times: what was known holds.
      if (before.by_claims) return {true};
      return {false,
              "vfrail-kube node has not answered yet whether the API server keeps "
              "allowMultipleAllocations"};
    case Sharing::dropped: {
      const std::string why =
          "the API server does not keep allowMultipleAllocations (feature gate DRAConsumableCapacity, on by "
          "default from Kubernetes 1.36)";
      // Its devices are in no ResourceSlice then, so nobody gets another share.
      if (before.by_claims && facts.claimed > 0)
        return {true, why + "; end the pods that have shares by claims"};
      return {false, why};
    }
    case Sharing::kept:
      break;
  }
  // A pod has a share that the scheduler does not know of: claims were switched off meanwhile.
  const bool came_back = facts.held > 0 && facts.claimed == 0;
  if (before.by_claims && !came_back) return {true};
  if (!facts.held_known) return {false, before.reason == kHeld ? kHeld : kNotAnswered};
  if (facts.held > 0) return {false, kHeld};
  return {true};
}

SharedSwitch::SharedSwitch(std::string run_dir, Log& log) : run_dir_(std::move(run_dir)), log_(log) {
  const auto known = read_ways(run_dir_);
  if (!known)
    log_.warning("how shared pools were served is not known; they begin with the device plugin",
                 {{"reason", known.error().text}, {"id", known.error().id_text()}});
  adopt();
}

// Of two instances in a rolling update one decides first.
void SharedSwitch::adopt() {
  const auto known = read_ways(run_dir_);
  if (!known) return;
  for (const auto& [resource, way] : *known) {
    if (way.by_claims) ways_[resource] = way;
  }
}

bool SharedSwitch::by_claims(const ResourceConfig& resource) const {
  if (!shares(resource)) return true;
  const auto at = ways_.find(resource.resource());
  return at != ways_.end() && at->second.by_claims;
}

bool SharedSwitch::follow(const std::vector<PublishedPool>& pools, Sharing sharing, const DevicesInUse* held,
                          const std::vector<ClaimRecord>& claims) {
  adopt();
  std::map<std::string, SharedWay> now;
  is_waiting_ = false;
  for (const PublishedPool& pool : pools) {
    if (!shares(pool->config)) continue;
    const std::string resource = pool->resource();
    const SharedFacts facts{.sharing = sharing,
                            .held_known = held != nullptr,
                            .held = held == nullptr ? 0 : held->count(resource),
                            .claimed = count_shares(resource, claims)};
    const auto at = ways_.find(resource);
    const SharedWay way = decide(facts, at == ways_.end() ? SharedWay() : at->second);
    is_waiting_ = is_waiting_ || (sharing == Sharing::kept && !way.by_claims);
    now.emplace(resource, way);
  }
  if (now == ways_) return false;
  const auto before = std::exchange(ways_, std::move(now));
  // Not moved without a record: a restart would move it back under the pods that have it.
  if (!write()) {
    ways_ = before;
    return false;
  }
  bool moved = false;
  for (const auto& [resource, way] : ways_) {
    const auto at = before.find(resource);
    const SharedWay was = at == before.end() ? SharedWay() : at->second;
    moved = moved || was.by_claims != way.by_claims;
    if (was == way) continue;
    log_.info(way.by_claims ? "a shared pool goes by claims" : "a shared pool is with the device plugin",
              {{"resource", resource}, {"reason", way.reason}});
  }
  return moved;
}

bool SharedSwitch::write() {
  const auto written = make_folder(folder_in(run_dir_), 0700);
  const auto done =
      written ? write_file(file_in(run_dir_), format_ways(ways_).text() + "\n", 0600, Durability::renamed)
              : written;
  if (!done)
    log_.warning("how shared pools are served cannot be recorded, so they stay as they are",
                 {{"reason", done.error().text}, {"id", done.error().id_text()}});
  return done.ok();
}

Result<> forget_shared_ways(const std::string& run_dir) { return remove_file(file_in(run_dir)); }

std::vector<Warning> shared_pool_notes(const std::string& run_dir) {
  std::vector<Warning> out;
  const auto ways = read_ways(run_dir);
  if (!ways) return {{ways.error().text, ways.error().id()}};
  for (const auto& [resource, way] : *ways) {
    if (!way.reason.empty())
      out.push_back({resource +
                         (way.by_claims ? ": its devices are not offered to claims: "
                                        : " stays with the device plugin, though this node has DRA: ") +
                         way.reason,
                     ErrorId::not_offered, resource});
  }
  return out;
}

}  // namespace vfrail::plugin

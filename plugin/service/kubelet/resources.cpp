#include "plugin/service/kubelet/resources.h"

#include "common/errors/error_id.h"
#include "common/text.h"
#include "plugin/device/match/pool_change.h"

#include <algorithm>
#include <utility>

namespace vfrail::plugin {

using std::chrono::milliseconds;

namespace {

// For the calls of all resources together. Kubelet's largest is 1 MiB (endpoint.cpp), and it makes one at a
// time.
constexpr size_t kMaxCallBytes = 16 << 20;
// How long calls that are under way may go on when a resource gets another socket.
constexpr milliseconds kMovePatience{200};

std::shared_ptr<grpc::ResourceQuota> call_memory() {
  auto out = std::make_shared<grpc::ResourceQuota>("vfrail");
  out->Resize(kMaxCallBytes);
  return out;
}

}  // namespace

Resources::Resources(Options options, Log& log)
    : options_(std::move(options)), log_(log), memory_(call_memory()) {}

bool Resources::follow(const std::vector<PublishedPool>& pools, Time now) {
  std::set<std::string> wanted;
  bool changed = false;
  for (const PublishedPool& pool : pools) {
    wanted.insert(pool->resource());
    changed = take(pool) || changed;
  }
  std::erase_if(empty_, [&](const auto& one) { return !wanted.contains(one.first); });
  std::erase_if(unusable_, [&](const auto& one) { return !wanted.contains(one.first); });
  for (const auto& [name, resource] : resources_) {
    if (wanted.contains(name) || resource->is_retiring()) continue;
    const size_t before = resource->pool()->devices.size();
    log_.info("the resource is no longer served",
              {{"resource", name}, {"change", "-" + std::to_string(before) + " devices"}});
    resource->retire(now);
    changed = true;
  }
  return changed;
}

// Its socket's name can change with the other resources of the configuration (make_sockets_distinct()), and
// one of them may have the old one now.
void Resources::leave_old_socket(const PublishedPool& pool) {
  const auto at = resources_.find(pool->resource());
  if (at == resources_.end()) return;
  const std::string& before = at->second->socket();
  const std::string after = socket_name(pool->config);
  if (before.substr(before.rfind('/') + 1) == after) return;
  log_.info("the resource gets another socket", {{"resource", pool->resource()}, {"socket", after}});
  at->second->close(kMovePatience);
  resources_.erase(at);
}

bool Resources::take(const PublishedPool& pool) {
  const std::string name = pool->resource();
  leave_old_socket(pool);
  const auto at = resources_.find(name);
  if (at == resources_.end()) {
    if (pool->devices.empty() && !pool->config.register_empty) {
      note_empty(pool);
      return false;
    }
    empty_.erase(name);
    return add(pool);
  }
  const auto before = at->second->pool();
  const bool changed = at->second->publish(pool);
  // A unit of several devices can stay healthy while one of them does not.
  if (changed || pool->config.unit != UnitKind::device) print_result(*before, *pool, changed);
  return changed;
}

void Resources::print_result(const Pool& before, const Pool& after, bool list_changed) {
  const PoolChange change = compare(before, after);
  if (!list_changed && change.empty()) return;
  log_.info("the devices changed", {{"resource", after.resource()},
                                    {"change", change.text()},
                                    {"devices", std::to_string(after.devices.size())},
                                    {"added", first_few(change.added)},
                                    {"removed", first_few(change.removed)}});
  if (after.devices.empty() && !before.devices.empty()) warn_of_empty(after);
  std::set<std::string> failed(change.failed.begin(), change.failed.end());
  failed.insert(change.added.begin(), change.added.end());
  warn_of_faults(after, failed);
}

// One line for each reason: the VFs of a PF whose cable is pulled share it.
void Resources::warn_of_faults(const Pool& pool, const std::set<std::string>& news) {
  std::map<std::pair<FaultCode, std::string>, std::vector<std::string>> by_fault;
  for (const PoolDevice& device : pool.devices) {
    if (!device.fault.empty() && news.contains(device.id()))
      by_fault[{device.fault.code, device.fault.text}].push_back(device.id());
  }
  for (const auto& [fault, ids] : by_fault) {
    log_.warning("devices are unhealthy", {{"resource", pool.resource()},
                                           {"devices", first_few(ids)},
                                           {"code", name_of(fault.first)},
                                           {"reason", fault.second},
                                           {"id", id_text(id_of(fault.first))}});
  }
}

// Not a fault: a DaemonSet has one configuration for all nodes. But a wrong selector has the same effect.
void Resources::warn_of_empty(const Pool& pool) {
  log_.info("no device of this node matches the resource", {{"resource", pool.resource()},
                                                            {"remedy", "vfrail inspect --explain"},
                                                            {"id", id_text(ErrorId::not_selected)}});
}

void Resources::note_empty(const PublishedPool& pool) {
  const std::string name = pool->resource();
  if (!empty_.contains(name)) warn_of_empty(*pool);
  empty_[name] = pool;
}

bool Resources::add(const PublishedPool& pool) {
  const std::string name = pool->resource();
  const auto path = socket_path(socket_folder(options_.kubelet_root, options_.registration), pool->config);
  if (!path) {
    const std::string& reason = path.error().text;
    if (!unusable_.contains(name))
      log_.error("cannot serve the resource",
                 {{"resource", name}, {"reason", reason}, {"id", path.error().id_text()}});
    unusable_[name] = {.pool = pool, .trouble = reason};
    return false;
  }
  Resource::Options options{
      .socket = *path,
      .registration = options_.registration,
      .kubelet_socket = kubelet_socket(options_.kubelet_root),
      .places = options_.places,
      .counters = options_.counters,
      .memory = memory_,
      .on_registration = [note = options_.on_registration, name](
                             uint64_t attempt,
                             RegistrationResult result) { note(name, attempt, std::move(result)); },
      .on_stream_end = options_.on_stream_end,
      .stream_patience = options_.stream_patience,
      .return_patience = options_.return_patience};
  std::set<std::string> all;
  for (const PoolDevice& device : pool->devices) all.insert(device.id());
  if (all.empty()) warn_of_empty(*pool);
  warn_of_faults(*pool, all);
  resources_.emplace(name, std::make_unique<Resource>(pool, std::move(options), log_));
  return true;
}

Time Resources::run_due(Time now) {
  const FileIdentity kubelet = identify(kubelet_socket(options_.kubelet_root));
  if (kubelet != kubelet_) {
    if (kubelet_seen_ && kubelet.exists()) log_.info("kubelet has restarted");
    kubelet_seen_ = kubelet_seen_ || kubelet.exists();
    for (const auto& [name, resource] : resources_)
      kubelet.exists() ? resource->kubelet_restarted() : resource->kubelet_left();
  }
  kubelet_ = kubelet;
  Time next = Time::max();
  for (const auto& [name, resource] : resources_) {
    next = std::min(next, resource->run_due(now, kubelet_.exists()).value_or(Time::max()));
  }
  std::erase_if(resources_, [](const auto& one) { return one.second->is_retired(); });
  return next;
}

void Resources::result(const std::string& resource, uint64_t attempt, const RegistrationResult& result,
                       Time now) {
  if (const auto at = resources_.find(resource); at != resources_.end())
    at->second->result(attempt, result, now);
}

std::vector<ResourceStatus> Resources::status() const {
  std::vector<ResourceStatus> out;
  for (const auto& [name, resource] : resources_) out.push_back(resource->status());
  for (const auto& [name, pool] : empty_) out.push_back({.pool = pool});
  for (const auto& [name, status] : unusable_) out.push_back(status);
  return out;
}

void Resources::close(milliseconds patience) {
  const Time deadline = std::chrono::steady_clock::now() + patience;
  for (const auto& [name, resource] : resources_) {
    resource->close(std::max(milliseconds{0}, std::chrono::duration_cast<milliseconds>(
                                                  deadline - std::chrono::steady_clock::now())));
  }
  resources_.clear();
}

}  // namespace vfrail::plugin

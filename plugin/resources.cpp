#include "plugin/resources.h"

#include "plugin/pool_change.h"

#include <algorithm>
#include <utility>

namespace vfrail {

using std::chrono::milliseconds;

bool Resources::follow(std::vector<Pool> pools, Time now) {
  std::set<std::string> wanted;
  bool changed = false;
  for (Pool& pool : pools) {
    wanted.insert(pool.resource());
    changed = take(std::move(pool)) || changed;
  }
  for (const auto& [name, resource] : resources_) {
    if (wanted.contains(name) || resource->is_retiring()) continue;
    const size_t before = resource->pool()->devices.size();
    log_.info("the resource is given up",
              {{"resource", name}, {"change", "-" + std::to_string(before) + " devices"}});
    resource->retire(now);
    changed = true;
  }
  return changed;
}

bool Resources::take(Pool pool) {
  const auto at = resources_.find(pool.resource());
  if (at == resources_.end()) {
    return (!pool.devices.empty() || pool.config.register_empty) && add(std::move(pool));
  }
  const auto before = at->second->pool();
  if (!at->second->publish(std::move(pool))) return false;
  tell(*before, *at->second->pool());
  return true;
}

void Resources::tell(const Pool& before, const Pool& after) {
  const PoolChange change = compare(before, after);
  log_.info("the devices changed", {{"resource", after.resource()},
                                    {"change", change.text()},
                                    {"devices", std::to_string(after.devices.size())},
                                    {"added", first_few(change.added)},
                                    {"removed", first_few(change.removed)}});
  // One line for each reason: the VFs of a PF whose cable is pulled have the same.
  std::map<std::string, std::vector<std::string>> by_fault;
  for (const std::string& id : change.failed) by_fault[after.find(id)->fault].push_back(id);
  for (const auto& [fault, ids] : by_fault) {
    log_.warning("devices became unhealthy",
                 {{"resource", after.resource()}, {"devices", first_few(ids)}, {"reason", fault}});
  }
}

bool Resources::add(Pool pool) {
  const std::string name = pool.resource();
  const auto path = socket_path(socket_folder(options_.kubelet_root, options_.registration),
                                pool.config.prefix, pool.config.name);
  if (!path) {
    if (unusable_.insert(path.error().text).second)
      log_.error("cannot serve the resource", {{"resource", name}, {"reason", path.error().text}});
    return false;
  }
  Resource::Options options{
      .socket = *path,
      .registration = options_.registration,
      .kubelet_socket = kubelet_socket(options_.kubelet_root),
      .places = options_.places,
      .counters = options_.counters,
      .on_verdict = [note = options_.on_verdict, name](
                        uint64_t attempt,
                        RegistrationVerdict verdict) { note(name, attempt, std::move(verdict)); },
      .on_stream_end = options_.on_stream_end,
      .stream_patience = options_.stream_patience};
  resources_.emplace(name, std::make_unique<Resource>(std::move(pool), std::move(options), log_));
  return true;
}

Time Resources::look(Time now) {
  if (options_.registration == Registration::legacy) {
    const FileIdentity kubelet = identify(kubelet_socket(options_.kubelet_root));
    if (kubelet != kubelet_ && kubelet.exists()) {
      for (const auto& [name, resource] : resources_) resource->kubelet_came();
    }
    kubelet_ = kubelet;
  }
  Time next = Time::max();
  for (const auto& [name, resource] : resources_) {
    next = std::min(next, resource->look(now, kubelet_.exists()).value_or(Time::max()));
  }
  std::erase_if(resources_, [](const auto& one) { return one.second->is_retired(); });
  return next;
}

void Resources::verdict(const std::string& resource, uint64_t attempt, const RegistrationVerdict& verdict,
                        Time now) {
  if (const auto at = resources_.find(resource); at != resources_.end())
    at->second->verdict(attempt, verdict, now);
}

std::vector<ResourceStatus> Resources::status() const {
  std::vector<ResourceStatus> out;
  for (const auto& [name, resource] : resources_) out.push_back(resource->status());
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

}  // namespace vfrail

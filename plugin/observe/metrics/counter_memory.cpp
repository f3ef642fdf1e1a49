#include "plugin/observe/metrics/counter_memory.h"

#include <utility>

namespace vfrail::plugin {

namespace {

std::string describe(const DeviceFacts& function) {
  std::string out = function.driver.name() + '|';
  const auto add = [&](const std::vector<std::string>& names) {
    for (const std::string& name : names) out.append("/").append(name);
    out += '|';
  };
  add(function.netdev_names());
  add(function.rdma_names());
  add(function.verbs_nodes);
  return out;
}

}  // namespace

CounterMemory::Known& CounterMemory::of(const DeviceFacts& function) {
  Entry& entry = devices_[function.id.text()];
  entry.named = true;
  std::string now = describe(function);
  if (now != entry.seen_as) entry = {.seen_as = std::move(now), .known = {}, .named = true};
  return entry.known;
}

void CounterMemory::begin(Time now) {
  if (now - since_ >= kKept) {
    devices_.clear();
    lists_.clear();
    since_ = now;
  }
  std::erase_if(devices_, [](const auto& one) { return !one.second.named; });
  for (auto& [id, entry] : devices_) entry.named = false;
}

std::shared_ptr<const CounterMemory::Names> CounterMemory::share(Names files) {
  auto& shared = lists_[files];
  if (!shared) shared = std::make_shared<const Names>(std::move(files));
  return shared;
}

}  // namespace vfrail::plugin

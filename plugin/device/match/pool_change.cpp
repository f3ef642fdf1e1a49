#include "plugin/device/match/pool_change.h"

#include <map>

namespace vfrail::plugin {

std::string PoolChange::text() const {
  std::string out;
  if (!added.empty()) out += "+" + std::to_string(added.size());
  if (!removed.empty()) out += (out.empty() ? "-" : " -") + std::to_string(removed.size());
  if (!out.empty()) out += " devices";
  const auto append = [&](size_t count, const char* what) {
    if (count > 0) out += (out.empty() ? "" : ", ") + std::to_string(count) + what;
  };
  append(failed.size(), " unhealthy");
  append(recovered.size(), " healthy again");
  return out.empty() ? "the same devices" : out;
}

// By id, whatever the order of the lists: sub-functions follow one another by number and not by text, and a
// device in use that is put back comes behind those with its address.
PoolChange compare(const Pool& before, const Pool& after) {
  std::map<std::string, const PoolDevice*> old;
  for (const PoolDevice& device : before.devices) old.emplace(device.id(), &device);
  PoolChange out;
  for (const PoolDevice& device : after.devices) {
    const auto known = old.find(device.id());
    if (known == old.end()) {
      out.added.push_back(device.id());
      continue;
    }
    if (known->second->fault.empty() != device.fault.empty())
      (device.fault.empty() ? out.recovered : out.failed).push_back(device.id());
    old.erase(known);
  }
  for (const PoolDevice& device : before.devices) {
    if (old.contains(device.id())) out.removed.push_back(device.id());
  }
  return out;
}

}  // namespace vfrail::plugin

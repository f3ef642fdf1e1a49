#include "plugin/observe/status/notices.h"

#include "common/text.h"

namespace vfrail::plugin {

namespace {

std::string first_fault(const std::vector<Unit>& units) {
  for (const Unit& unit : units) {
    if (!unit.fault.empty()) return unit.id + ": " + unit.fault;
  }
  return "";
}

std::string empty_text(const PublishedPool& pool) {
  const std::string name = pool->resource();
  if (pool.units().empty())
    return name +
           " has no device any more: none of the node's functions is selected for it; vfrail inspect "
           "names those that are left out, and why";
  return name + " has no healthy device, of " + std::to_string(pool.units().size()) + "; " +
         first_fault(pool.units()) + "; vfrail inspect has the reason of each";
}

}  // namespace

std::vector<Notice> NoticeFinder::find(const NodeStatus& status) {
  std::vector<Notice> out;
  if (!status.scan_failure.empty())
    out.push_back({"DevicesUnreadable", "",
                   "the node's devices cannot be read, and what was read last stays advertised: " +
                       status.scan_failure + "; vfrail doctor on the node says more"});
  if (!status.orphans.empty())
    out.push_back(
        {"DeviceOrphaned", "",
         counted(status.orphans.size(), "device") + " (" + first_few(status.orphans) +
             ") still attached for a pod that has ended, so no pod gets them; vfrail doctor says by "
             "what, vfrail-cni sweep restores them"});
  for (const ResourceStatus& resource : status.resources) {
    const std::string name = resource.pool->resource();
    if (count_healthy(resource.pool.units()) > 0)
      had_units_.insert(name);
    else if (status.scanned && (had_units_.contains(name) || !resource.pool.units().empty()))
      out.push_back({"ResourceEmpty", name, empty_text(resource.pool)});
    const bool works = resource.pool->devices.empty() || (resource.serving && resource.registered);
    if (!works && !resource.trouble.empty())
      out.push_back(
          {"ResourceNotRegistered", name,
           name + ": kubelet does not have it, so that no pod gets its devices: " + resource.trouble});
  }
  for (const SkippedEntry& entry : status.skipped)
    out.push_back({"ConfigurationFaulty", entry.resource,
                   "not served: " + entry.text() + "; vfrail validate checks the configuration"});
  if (out.size() > kMaxNotices) out.resize(kMaxNotices);
  return out;
}

}  // namespace vfrail::plugin

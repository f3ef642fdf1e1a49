#include "plugin/device/inventory/host_view.h"

#include "common/errors/error_id.h"
#include "common/text.h"

#include <algorithm>
#include <set>

namespace vfrail::plugin {

namespace {

constexpr const char* kRemedy =
    "mount the host's folders below /host as manifests/daemonset.yaml does, with --root /host, or run it "
    "with hostNetwork: true and --root /";

Result<bool> is_host_namespace(const SysRoot& sys) {
  const auto own = TRY(sys.link_target("proc/self/ns/net"));
  // Without CAP_SYS_PTRACE another process's may not be read; in a container PID 1 is mostly its own.
  const auto first = sys.link_target("proc/1/ns/net").or_none();
  if (own && first && *own != *first) return false;
  return sys.exists("proc/sys/net/core/netdev_max_backlog");
}

}  // namespace

Result<HostView> read_host_view(const SysRoot& sys, const Inventory& inventory) {
  HostView out;
  out.is_host_namespace =
      TRY(is_host_namespace(sys), "find out whether this is the host's network namespace");
  std::set<PciAddress> seen;
  for (const DeviceFacts& function : inventory.functions) {
    if (function.is_pf() && !function.netdevs.empty()) seen.insert(function.address);
  }
  out.sees_interfaces = !seen.empty();
  for (const DeviceFacts& function : inventory.functions) {
    const bool may_be_in_a_pod = function.pf && seen.contains(*function.pf);
    if (function.away() && !may_be_in_a_pod) out.unseen.push_back(function.id.text());
  }
  return out;
}

std::string mark_unseen(const HostView& view, Inventory& inventory) {
  if (view.is_host_namespace || view.unseen.empty()) return "";
  for (DeviceFacts& function : inventory.functions) {
    const std::string id = function.id.text();
    if (std::find(view.unseen.begin(), view.unseen.end(), id) == view.unseen.end()) continue;
    function.host_use.push_back({HostUseFact::Kind::unseen,
                                 "its interface is not in this network namespace, so whether the host uses "
                                 "it is not known"});
  }
  const std::string what = "this is not the host's network namespace: the interfaces of " +
                           first_few(view.unseen) + " cannot be seen, nor the host's routes and addresses; " +
                           kRemedy;
  inventory.warnings.push_back({what, ErrorId::host_not_visible});
  return view.sees_interfaces ? std::string() : what;
}

Result<std::string> check_host_view(const SysRoot& sys, Inventory& inventory) {
  if (sys.path("") != "/") return std::string();
  return mark_unseen(TRY(read_host_view(sys, inventory)), inventory);
}

}  // namespace vfrail::plugin

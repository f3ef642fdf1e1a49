#include "cni/node/host_use.h"

#include "common/node/device_folder.h"

#include <algorithm>

namespace vfrail {

namespace {

// VLAN on bond on port is two; more is a mistake.
constexpr int kMaxStacked = 4;

Result<std::string> find_master(Kernel& host, const Link& link) {
  if (link.master == 0) return std::string();
  const auto master = TRY(host.find_link(link.master), "find the master of " + link.name);
  if (!master) return std::string();  // it has been freed since
  return link.name + " is a member of " + master->name + (master->kind.empty() ? "" : ", a " + master->kind);
}

// The PF's interface is the handle on its VFs: addresses, VLANs and rates are set there.
Result<std::string> find_vfs(const SysRoot& sys, const Device& device) {
  if (!device.id.pci()) return std::string();
  const std::string count = TRY(DeviceFolder(sys, device.id).text("sriov_numvfs"), "");
  if (count.empty() || count == "0") return std::string();
  return device.key() + " is the PF of " + count + " VFs, which the host could not configure without it";
}

Result<bool> has_default_route(Kernel& host, const Link& link) {
  const auto routes = TRY(host.routes(link.index), "find a default route over " + link.name);
  return std::any_of(routes.begin(), routes.end(),
                     [](const Route& route) { return route.destination.prefix == 0; });
}

// The name of the link with the default route: the link itself, or one above it. Empty: none.
Result<std::string> find_default_route(const SysRoot& sys, Kernel& host, const Link& link,
                                       const std::vector<Link>& uppers, int depth) {
  if (!link.up() || depth > kMaxStacked) return std::string();
  if (TRY(has_default_route(host, link), "")) return link.name.text();
  for (const Link& upper : uppers) {
    const auto above = TRY(find_uppers(sys, host, upper.name), "");
    std::string found = TRY(find_default_route(sys, host, upper, above, depth + 1), "");
    if (!found.empty()) return found;
  }
  return std::string();
}

}  // namespace

Result<std::vector<Link>> find_uppers(const SysRoot& sys, Kernel& host, const std::string& netdev) {
  std::vector<Link> out;
  for (const std::string& name : TRY(list_uppers(sys, netdev), "find what stands on " + netdev)) {
    // No value: it has been removed since.
    if (auto upper = TRY(host.find_link(name), "")) out.push_back(std::move(*upper));
  }
  return out;
}

Result<std::string> find_host_use(const SysRoot& sys, Kernel& host, const Device& device, const Link& link,
                                  const std::vector<Link>& uppers) {
  if (auto master = TRY(find_master(host, link), ""); !master.empty()) return master;
  if (auto vfs = TRY(find_vfs(sys, device), ""); !vfs.empty()) return vfs;
  const std::string carrier = TRY(find_default_route(sys, host, link, uppers, 0), "");
  if (carrier.empty()) return std::string();
  if (carrier == link.name) return carrier + " carries a default route of the host";
  return carrier + ", which stands on " + link.name + ", carries a default route of the host";
}

std::string find_downed_pf(const SysRoot& sys, const DeviceId& id) {
  const auto found = find_pf(sys, id);
  if (!found || !found->pf) return "";
  const std::string& pf = found->netdev;
  const auto flags = sys.text("sys/class/net/" + pf + "/flags").or_none();  // "0x1003"
  if (!flags || flags->empty()) return "";
  const char lowest = flags->back();
  const int digit = lowest >= 'a' ? lowest - 'a' + 10 : lowest - '0';
  if ((digit & 1) != 0) return "";  // IFF_UP
  return "its PF " + pf + " is down; bring it up: ip link set " + pf + " up";
}

}  // namespace vfrail

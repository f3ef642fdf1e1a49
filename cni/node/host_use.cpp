#include "cni/node/host_use.h"

#include "common/node/device_folder.h"

#include <algorithm>

namespace vfrail::cni {

namespace {

struct Stacked {
  Link link;
  bool own;  // it would move with the device or end: not a master, nor above one
};

// The device's interface, and all of the host's above it, each once.
Result<std::vector<Stacked>> find_stacked(const SysRoot& sys, Kernel& host, const Link& link,
                                          const std::vector<Link>& uppers) {
  std::vector<Stacked> out{{link, true}};
  for (size_t i = 0; i < out.size(); ++i) {
    const Stacked below = out[i];
    std::vector<Link> above = i == 0 ? uppers : TRY(find_uppers(sys, host, below.link.name));
    for (Link& upper : above) {
      const bool known = std::any_of(out.begin(), out.end(),
                                     [&](const Stacked& one) { return one.link.index == upper.index; });
      if (!known) out.push_back({std::move(upper), below.own && upper.index != below.link.master});
    }
  }
  return out;
}

std::string subject(const Link& one, const Link& link) {
  return one.index == link.index ? link.name : one.name + ", which stands on " + link.name + ",";
}

// A VRF is a master, too, and does not own its interfaces: it is a choice of a routing table.
Result<std::string> find_membership(Kernel& host, const Link& link, const std::vector<Stacked>& stacked) {
  for (const Stacked& one : stacked) {
    if (!one.own || one.link.master == 0) continue;
    const auto master = TRY(host.find_link(one.link.master), "find the master of " + one.link.name);
    if (!master || master->kind == "vrf") continue;  // none: it has been freed since
    return subject(one.link, link) + " is a member of " + master->name +
           (master->kind.empty() ? "" : ", a " + master->kind);
  }
  return std::string();
}

// The PF's interface is the handle on its VFs: addresses, VLANs and rates are set there.
Result<std::string> find_vfs(const SysRoot& sys, const Device& device) {
  if (!device.id.pci()) return std::string();
  const uint32_t count = TRY(read_num_vfs(DeviceFolder(sys, device.id)));
  if (count == 0) return std::string();
  return device.key() + " is the PF of " + std::to_string(count) +
         " VFs, which the host could not configure without it";
}

Result<bool> has_default_route(Kernel& host, const Link& link) {
  const auto routes = TRY(host.routes(link.index), "find a default route over " + link.name);
  return std::any_of(routes.begin(), routes.end(),
                     [](const Route& route) { return route.destination.prefix == 0; });
}

}  // namespace

Result<std::vector<Link>> find_uppers(const SysRoot& sys, Kernel& host, const std::string& netdev) {
  std::vector<Link> out;
  for (const std::string& name : TRY(list_uppers(sys, netdev), "find what stands on " + netdev)) {
    // No value: it has been removed since.
    if (auto upper = TRY(host.find_link(name))) out.push_back(std::move(*upper));
  }
  return out;
}

Result<std::string> find_host_use(const SysRoot& sys, Kernel& host, const Device& device, const Link& link,
                                  const std::vector<Link>& uppers) {
  const auto stacked = TRY(find_stacked(sys, host, link, uppers));
  if (auto membership = TRY(find_membership(host, link, stacked)); !membership.empty()) return membership;
  if (auto vfs = TRY(find_vfs(sys, device)); !vfs.empty()) return vfs;
  for (const Stacked& one : stacked) {
    if (one.link.up() && TRY(has_default_route(host, one.link)))
      return subject(one.link, link) + " carries a default route of the host";
  }
  return std::string();
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

}  // namespace vfrail::cni

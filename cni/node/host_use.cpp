#include "cni/node/host_use.h"

#include "common/node/device_folder.h"
#include "common/node/host_use.h"

#include <algorithm>
#include <map>

namespace vfrail::cni {

namespace {

struct Above {
  Link link;
  std::vector<std::string> uppers;
};

bool contains(const std::vector<Above>& all, int index) {
  return std::any_of(all.begin(), all.end(), [&](const Above& one) { return one.link.index == index; });
}

// The device's interface, and all of the host's above it, each once.
Result<std::vector<Above>> read_above(const SysRoot& sys, Kernel& host, const Link& link,
                                      const std::vector<Link>& uppers) {
  std::vector<Above> out{{link, {}}};
  for (size_t i = 0; i < out.size(); ++i) {
    const Link below = out[i].link;
    std::vector<Link> found = i == 0 ? uppers : TRY(find_uppers(sys, host, below.name));
    for (Link& upper : found) {
      out[i].uppers.push_back(upper.name);
      if (!contains(out, upper.index)) out.push_back({std::move(upper), {}});
    }
    // One that has become a member since its uppers were listed.
    if (below.master == 0 || contains(out, below.master)) continue;
    auto master = TRY(host.find_link(below.master), "find the master of " + below.name);
    if (master) out.push_back({*std::move(master), {}});  // none: it has been freed since
  }
  return out;
}

HostLinks describe(const std::vector<Above>& above) {
  std::map<int, std::string> names;
  for (const Above& one : above) names[one.link.index] = one.link.name;
  HostLinks out;
  for (const Above& one : above) {
    const auto master = names.find(one.link.master);
    out[one.link.name] = {.kind = one.link.kind,
                          .master = master == names.end() ? std::string() : master->second,
                          .uppers = one.uppers};
  }
  return out;
}

Result<> read_default_routes(Kernel& host, const std::vector<Above>& above, HostLinks& out) {
  for (const auto& [link, uppers] : above) {
    if (!link.up()) continue;
    const auto routes = TRY(host.routes(link.index), "find a default route over " + link.name);
    std::vector<std::string>& names = out[link.name].default_routes;
    for (const Route& route : routes) {
      if (route.destination.prefix != 0) continue;
      std::string name = name_default_route(route.destination.v6(), route.table);
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
    }
  }
  return {};
}

// The PF's interface is the handle on its VFs: addresses, VLANs and rates are set there.
Result<std::string> find_vfs(const SysRoot& sys, const Device& device) {
  if (!device.id.pci()) return std::string();
  const uint32_t count = TRY(read_num_vfs(DeviceFolder(sys, device.id)));
  if (count == 0) return std::string();
  return device.key() + " is the PF of " + std::to_string(count) +
         " VFs, which the host could not configure without it";
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

Result<std::string> read_host_use(const SysRoot& sys, Kernel& host, const Device& device, const Link& link,
                                  const std::vector<Link>& uppers) {
  const auto above = TRY(read_above(sys, host, link, uppers));
  HostLinks links = describe(above);
  if (const auto uses = find_host_use({link.name}, links); !uses.empty()) return uses.front().what;
  if (auto vfs = TRY(find_vfs(sys, device)); !vfs.empty()) return vfs;
  TRY(read_default_routes(host, above, links));
  const auto uses = find_host_use({link.name}, links);
  return uses.empty() ? std::string() : uses.front().what;
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

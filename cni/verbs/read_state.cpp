#include "cni/verbs/read_state.h"

#include "cni/node/device.h"
#include "cni/node/find_link.h"
#include "cni/node/host_use.h"
#include "cni/node/mac_owners.h"
#include "cni/steps/rebind_step.h"
#include "cni/steps/rule_steps.h"
#include "cni/steps/wait_step.h"
#include "common/container/allocated_nodes.h"
#include "common/container/cdi_runtime.h"
#include "common/container/cdi_spec.h"
#include "common/errors/error_id.h"
#include "common/text.h"

#include <algorithm>
#include <thread>

namespace vfrail::cni {

namespace {

// The RDMA devices that sysfs shows below the device. A list of the kernel can lack one while other pods'
// devices move (Kernel::rdma_devices()), which takes some ms each.
Result<std::vector<RdmaDevice>> read_rdma_devices(const Device& device, World& world) {
  const auto deadline = std::chrono::steady_clock::now() + world.return_timeout;
  for (;;) {
    std::vector<RdmaDevice> out;
    for (RdmaDevice& rdma : TRY(world.host.rdma_devices())) {
      const bool ours = std::any_of(device.rdma.begin(), device.rdma.end(),
                                    [&](const RdmaFacts& one) { return one.name == rdma.name; });
      if (ours) out.push_back(std::move(rdma));
    }
    if (out.size() == device.rdma.size() || std::chrono::steady_clock::now() >= deadline) return out;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// For a warning only, so a failure here fails no pod.
std::vector<std::string> read_mac_owners(const Request& request, const MacAddress& mac, const Device& device,
                                         const State& state, const World& world) {
  std::vector<std::string> out;
  for (const VfReport& other : state.other_vfs) {
    if (other.settings.mac == mac) out.push_back("VF " + std::to_string(other.vf) + " of " + state.vf->pf);
  }
  const auto add = [&](Result<std::vector<std::string>> found) {
    if (found) out.insert(out.end(), found->begin(), found->end());
  };
  add(attachments_with(mac, {request.container_id, request.ifname}, device.key(), world));
  add(host_links_with(mac, state.link ? state.link->index : 0, world));
  return out;
}

// AllocatedNodes with a CDI spec are valid as long as the spec exists; without it another plugin has the
// device by now.
Result<std::optional<AllocatedNodes>> read_valid_allocated_nodes(const DeviceId& id, const World& world) {
  auto allocated = TRY(read_allocated_nodes(world.run_folder, id));
  if (!allocated || allocated->cdi_spec.empty()) return allocated;
  const std::string what = "read the CDI spec of " + id.text();
  const auto folders = with_folders_of_runtime(allocated->cdi_spec, world.cdi_folders, world.sys);
  const auto spec = TRY(find_cdi_spec(allocated->cdi_spec, folders), what);
  if (!spec || !TRY(read_cdi_spec(spec->path()), what + " (" + allocated->cdi_spec + ")")) allocated.reset();
  return allocated;
}

Result<> read_vf(const Device& device, World& world, State& state) {
  if (device.id.empty()) {
    state.no_vf = device.key() + " is not a PCI function, so no VF";
    return {};
  }
  const auto port = device.netdevs.empty() ? std::nullopt : device.netdevs.front().dev_port;
  auto found = TRY(find_vf_place(world.sys, device.id, port), "find the PF of " + device.key());
  state.no_vf = std::move(found.why_not);
  if (!found.place) return {};
  const VfPlace& place = *found.place;
  std::vector<VfReport> vfs = TRY(world.host.vfs(place.pf_link), place.pf);
  const auto ours =
      std::find_if(vfs.begin(), vfs.end(), [&](const VfReport& one) { return one.vf == place.index; });
  if (ours == vfs.end()) {
    state.no_vf = place.pf + " does not report its VF " + std::to_string(place.index);
    return {};
  }
  state.vf_settings = std::move(ours->settings);
  vfs.erase(ours);
  state.other_vfs = std::move(vfs);
  if (device.driver.is_user_space()) state.pf = TRY(world.host.find_link(place.pf_link), place.pf);
  state.vf = std::move(found.place);
  return {};
}

// The routes only where there is an address of the host's own, and where the kernel can have some.
Result<HostConfig> read_host_config(const Link& link, Kernel& host) {
  const auto addresses = TRY(host.addresses(link.index));
  const bool has_own = std::any_of(addresses.begin(), addresses.end(), is_own);
  const auto routes = has_own && link.up() ? TRY(host.routes(link.index)) : std::vector<Route>();
  return host_config_of(link, addresses, routes);
}

}  // namespace

Result<State> wait_for_parts(Device device, const DeviceSelector& selector, RdmaPolicy rdma, Chained chained,
                             World& world) {
  State state;
  state.device = std::move(device);
  state.netdev_in_pod = chained == Chained::rdma;
  if (state.device.id.empty()) return state;
  state.allocated = TRY(read_valid_allocated_nodes(state.device.id, world));
  const auto complete = [&] { return missing_part(rdma, state).empty(); };
  const auto read_again = [&]() -> Result<bool> {
    state.device = TRY(find_device(world.sys, world.host, selector));
    return complete();
  };
  if (complete()) return state;
  if (state.device.netdevs.empty() && !state.netdev_in_pod) {
    const auto appeared = wait_for_host_link(
        world, [&]() -> Result<bool> { return TRY(read_again()) || !state.device.netdevs.empty(); });
    if (!appeared && appeared.error().code != Errc::timeout) return appeared.error();
    if (!appeared) return state;
  }
  const auto deadline = std::chrono::steady_clock::now() + world.return_timeout;
  // The kernel sends no notification when an RDMA device returns, so it is polled for.
  while (!complete() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    TRY(read_again());
  }
  return state;
}

Result<State> read_state(State state, const NetConf& conf, const Request& request, Kernel& pod,
                         World& world) {
  const Device& device = state.device;
  state.same_netns = pod.netns_id() == world.host.netns_id();
  if (!device.netdevs.empty() && !state.netdev_in_pod) {
    const std::string& name = device.netdevs.front().name;
    state.link = TRY(world.host.find_link(name));
  }
  if (state.link) {
    state.uppers = TRY(find_uppers(world.sys, world.host, state.link->name));
    for (Link& child : TRY(find_ipoib_children(*state.link, world.host)))
      state.uppers.push_back(std::move(child));
    state.host_config = TRY(read_host_config(*state.link, world.host));
  }
  if (state.link && !conf.safety.host_use_allowed) {
    state.host_use = TRY(read_host_use(world.sys, world.host, device, *state.link, state.uppers));
  }
  if (!device.rdma.empty() && conf.rdma.policy != RdmaPolicy::off) {
    state.rdma_mode = TRY(world.host.rdma_netns_mode());
    if (state.rdma_mode == RdmaNetnsMode::exclusive) {
      state.rdma = TRY(read_rdma_devices(device, world));
    }
  }
  const bool sets_vf =
      !state.netdev_in_pod && !TRY(wanted_vf_settings(request, conf.link.mac, conf.vf)).empty();
  const bool pf_for_user_space = conf.entry.type == "ib-sriov" && device.driver.kind() == DriverKind::vfio;
  if (sets_vf || pf_for_user_space) {
    TRY(read_vf(device, world, state));
  } else if (!state.netdev_in_pod && reports_pf(conf.entry.type, device)) {
    (void)read_vf(device, world, state);  // the result says less without it
  }
  if (!state.netdev_in_pod) {
    const auto mac = TRY(wanted_mac(request, conf.link.mac));
    if (mac) state.mac_owners = read_mac_owners(request, *mac, device, state, world);
  }
  if (state.allocated && !state.allocated->cdi_spec.empty())
    state.no_cdi = find_missing_cdi(world.sys, state.allocated->cdi_spec);
  state.occupant = TRY(pod.find_link(request.ifname), "in the pod");
  for (const std::string& name : state.link ? state.link->altnames : std::vector<std::string>()) {
    if (!state.occupant) state.occupant = TRY(pod.find_link(name), "in the pod");
  }
  if (!conf.pod.sysctls.empty()) {
    state.sysctl_allow_list = TRY(world.sys.text(kSysctlAllowList.substr(1)), "read the sysctls' allow-list");
  }
  if (conf.pod.source_routing) {
    state.tables_in_use = TRY(tables_in_use(pod), "find a free routing table in the pod");
  }
  return state;
}

void warn_of_keys(const std::vector<std::string>& warnings, World& world) {
  for (const std::string& warning : warnings)
    world.log.warning("a key of the network configuration has no effect",
                      {{"reason", warning}, {"id", id_text(ErrorId::network_key_ignored)}});
}

// sriov-cni sets it without a word. Not refused here either: a bond in the pod has one address on two VFs.
void warn_of_mac(const Request& request, const MacKeys& keys, const State& state, Log& log) {
  const auto mac = wanted_mac(request, keys);
  if (!mac || !*mac || state.mac_owners.empty()) return;
  log.warning("the requested MAC address is in use by others, too", {{"device", state.device.key()},
                                                                     {"mac", (*mac)->text()},
                                                                     {"others", joined(state.mac_owners)},
                                                                     {"id", id_text(ErrorId::mac_in_use)}});
}

void warn_of_host_config(const State& state, Log& log) {
  const HostConfig& host = state.host_config;
  if (!state.link || (host.addresses.empty() && host.lost.empty())) return;
  std::vector<std::string> addresses;
  std::vector<std::string> routes;
  for (const HostAddress& one : host.addresses) addresses.push_back(one.address.cidr());
  for (const Route& one : host.routes) routes.push_back(one.text());
  log.warning(
      "the move into the pod removes the host's addresses and routes of the interface; DEL restores them",
      {{"interface", state.link->name},
       {"addresses", joined(addresses)},
       {"routes", joined(routes)},
       {"id", id_text(ErrorId::host_uses_device)}});
  if (!host.lost.empty())
    log.warning("addresses and routes of the host that DEL does not restore",
                {{"interface", state.link->name},
                 {"lost", joined(host.lost)},
                 {"id", id_text(ErrorId::host_config_lost)}});
}

void warn_of_reset(const SafetyConf& wanted, const Record& record, World& world) {
  if (!wanted.reset) return;
  const auto obstacle = obstacle_to_reset(record, world);
  const std::string why = obstacle ? *obstacle : obstacle.error().text;
  if (!why.empty())
    warn_of_keys({"reset: " + record.device_key + " is not reset at DEL, because " + why}, world);
}

}  // namespace vfrail::cni

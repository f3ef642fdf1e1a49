#include "plugin/admin/advise/ways.h"

#include "common/text.h"
#include "plugin/admin/advise/steps.h"
#include "plugin/device/config/formats/parse_config.h"
#include "plugin/device/match/units.h"

#include <algorithm>
#include <set>

namespace vfrail::plugin {

namespace {

// What a pod has is not visible: the PF's port, and where there is none the link type says it.
Transport fabric_of(const DeviceFacts& function) {
  if (function.transport() != Transport::unknown) return function.transport();
  RdmaFacts port;
  port.ports = function.port.rdma;
  if (port.transport() != Transport::unknown) return port.transport();
  return function.link_type == "infiniband" ? Transport::infiniband : Transport::roce;
}

bool can_serve(const DeviceFacts& function) {
  return function.kind == FunctionKind::network && function.rdma_capable && function.driver.is_bound() &&
         !function.driver.is_user_space() && !function.manages_nvlink;
}

bool is_hosts(const DeviceFacts& function) {
  return std::any_of(function.host_use.begin(), function.host_use.end(),
                     [](const HostUseFact& fact) { return fact.kind != HostUseFact::Kind::address; });
}

Members members_of(const Inventory& inventory, Transport fabric) {
  Members out;
  for (const DeviceFacts& function : inventory.functions) {
    if (!can_serve(function) || fabric_of(function) != fabric) continue;
    if (function.is_vf())
      out.vfs.push_back(&function);
    else if (!is_hosts(function))
      out.cards.push_back(&function);
  }
  return out;
}

Json texts_of_set(const std::set<std::string>& texts) {
  return Json(std::vector<std::string>(texts.begin(), texts.end()));
}

// What the functions have in common and others of the node have not. VFs that do not exist yet have ids that
// nobody knows, so those are selected without.
Json make_selectors(const Members& members, WayKind kind) {
  const auto& of = kind == WayKind::vfs && !members.vfs.empty() ? members.vfs : members.cards;
  std::set<std::string> vendors;
  std::set<std::string> devices;
  std::set<std::string> links;
  for (const DeviceFacts* function : of) {
    vendors.insert(function->vendor);
    devices.insert(function->device);
    links.insert(function->link_type);
  }
  Json out = Json::object();
  out.set("vendors", texts_of_set(vendors));
  // As each of the two formats calls it.
  if (kind != WayKind::vfs) out.set(kind == WayKind::shared ? "deviceIDs" : "devices", texts_of_set(devices));
  if (!links.contains("")) out.set("linkTypes", texts_of_set(links));
  if (kind == WayKind::vfs || !members.passed_through()) out.set("isPf", kind != WayKind::vfs);
  if (kind != WayKind::shared) out.set("isRdma", true);
  return out;
}

std::string name_of_resource(const Members& members, Transport fabric, WayKind kind) {
  std::string link = fabric == Transport::infiniband ? "ib" : "roce";
  if (fabric == Transport::iwarp) link = "iwarp";
  if (fabric == Transport::own) link = "nic";
  if (kind == WayKind::shared) return link + "_shared";
  if (kind == WayKind::vfs) return link + "_vf";
  return link + (members.passed_through() ? "_whole" : "_pf");
}

Json make_config(const Members& members, Transport fabric, WayKind kind) {
  Json entry = Json::object();
  entry.set("resourcePrefix", "rdma").set("resourceName", name_of_resource(members, fabric, kind));
  // What the host uses is not shared either: the traffic of pods would be on the node's own uplink.
  if (kind == WayKind::shared) entry.set("rdmaHcaMax", kPodsOfNode).set("hostUse", "warn");
  entry.set("selectors", make_selectors(members, kind));
  Json list = Json::array();
  list.push(std::move(entry));
  return Json::object().set(kind == WayKind::shared ? "configList" : "resourceList", std::move(list));
}

std::string isolation_of(const PlanFacts& facts, WayKind kind) {
  if (kind == WayKind::shared) return "none";
  if (!facts.inventory.rdma_netns_mode) return "not known: needs the RDMA namespace mode";
  return *facts.inventory.rdma_netns_mode == RdmaNetnsMode::exclusive ? "full" : "own nodes";
}

std::string address_of(const Members& members, Transport fabric, WayKind kind) {
  if (kind == WayKind::shared) return takes_hosts_address(fabric) ? "the host's" : "no";
  const auto& of = kind == WayKind::vfs && !members.vfs.empty() ? members.vfs : members.cards;
  if (of.empty()) return "-";
  const bool bare = std::all_of(of.begin(), of.end(), [](const DeviceFacts* function) {
    return function->netdevs.empty() && !function->away();
  });
  if (bare) return "no interface";
  return fabric == Transport::infiniband ? "IPoIB" : "yes";
}

// The same for every way: all of them use the card's own path to the memory of the GPU.
std::string gpu_direct_of(const PlanFacts& facts) {
  const auto& gpus = facts.inventory.gpus;
  if (gpus.empty()) return "no GPU";
  const CheckResult* result = find_result(facts, "VF-N26");
  const bool nvidia =
      std::all_of(gpus.begin(), gpus.end(), [](const Gpu& gpu) { return gpu.vendor == "10de"; });
  if (!nvidia || result == nullptr || result->finding == Finding::unknown) return "not known";
  return result->finding == Finding::good ? "yes" : "no";
}

uint32_t possible_vfs(const Members& members) {
  uint32_t out = 0;
  for (const DeviceFacts* card : members.cards) out += card->total_vfs;
  return out;
}

std::string names_of_faulty(const Pool& pool) {
  std::vector<std::string> out;
  for (const PoolDevice& device : pool.devices) {
    if (!device.fault.empty()) out.push_back(device.id());
  }
  return first_few(out);
}

std::string say_pods(const Members& members, const Way& way) {
  if (way.kind == WayKind::vfs && members.passed_through()) return "0: VFs are made where the PF is";
  if (way.kind != WayKind::vfs && way.pool.devices.empty())
    return members.cards.empty() ? "0: no such PF" : "0: every PF has VFs";
  if (way.kind == WayKind::shared) {
    const std::string most = "up to rdmaHcaMax (" + std::to_string(kPodsOfNode) + ")";
    return way.pods_now > 0 ? most : "0; " + most + " when a port of " + names_of_faulty(way.pool) + " is up";
  }
  if (!way.pool.devices.empty()) {
    const size_t all = way.pool.devices.size();
    std::string out = std::to_string(way.pods_now);
    if (way.pods_now < all)
      out += "; " + std::to_string(all) + " when " + names_of_faulty(way.pool) + " works";
    return out;
  }
  if (way.kind == WayKind::whole) return "0: every card has VFs, or is the host's";
  if (const uint32_t most = possible_vfs(members); most > 0) return "0; up to " + std::to_string(most);
  return "not known: needs SR-IOV";
}

Way make_way(const PlanFacts& facts, const Members& members, Transport fabric, WayKind kind) {
  Way out;
  out.kind = kind;
  out.config = make_config(members, fabric, kind);
  out.resource = "rdma/" + name_of_resource(members, fabric, kind);
  // Our own text, which tests parse; what cannot be parsed selects nothing.
  if (const auto config = parse_config(out.config.text(), {.file = "plan"}))
    out.pool = match(*config, facts.inventory).pools.front();
  for (const Unit& unit : make_units(out.pool)) out.pods_now += unit.fault.empty() ? 1 : 0;
  out.pods = say_pods(members, out);
  out.isolation = isolation_of(facts, kind);
  out.address = address_of(members, fabric, kind);
  out.gpu_direct = gpu_direct_of(facts);
  out.takes = steps_of(facts, members, fabric, kind);
  return out;
}

}  // namespace

std::string speed_of(const PlanFacts& facts, const DeviceFacts& function) {
  const auto at = facts.hardware.find(function.id.text());
  if (at == facts.hardware.end() || !at->second.speed_mbps) return "";
  const uint32_t speed = *at->second.speed_mbps;
  return speed < 1000 ? std::to_string(speed) + " Mb/s" : std::to_string(speed / 1000) + " Gb/s";
}

std::vector<FabricPlan> plan_fabrics(const PlanFacts& facts) {
  std::vector<FabricPlan> out;
  for (const Transport fabric : {Transport::infiniband, Transport::roce, Transport::iwarp, Transport::own}) {
    const Members members = members_of(facts.inventory, fabric);
    if (members.cards.empty() && members.vfs.empty()) continue;
    FabricPlan& plan = out.emplace_back();
    plan.fabric = fabric;
    plan.cards = members.cards;
    plan.passed_through = members.passed_through();
    for (const WayKind kind : {WayKind::shared, WayKind::whole, WayKind::vfs})
      plan.ways.push_back(make_way(facts, members, fabric, kind));
    recommend(facts, plan);
  }
  return out;
}

}  // namespace vfrail::plugin

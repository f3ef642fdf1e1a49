#include "plugin/report/report.h"

#include <map>

namespace vfrail {

namespace {

Json netdevs(const PciFunction& function) {
  Json out = Json::array();
  for (const Netdev& netdev : function.netdevs) {
    Json entry = Json::object();
    entry.set("name", netdev.name).set("mac", netdev.mac).set("mtu", netdev.mtu);
    entry.set("type", int{netdev.type}).set("operstate", netdev.operstate).set("carrier", netdev.carrier);
    out.push(std::move(entry));
  }
  return out;
}

Json rdma_devices(const PciFunction& function) {
  Json out = Json::array();
  for (const RdmaFacts& rdma : function.rdma) {
    Json ports = Json::array();
    for (const RdmaPort& port : rdma.ports) {
      Json entry = Json::object();
      entry.set("number", port.number).set("state", port.state).set("link_layer", port.link_layer);
      entry.set("umad", port.umad).set("issm", port.issm);
      ports.push(std::move(entry));
    }
    Json entry = Json::object();
    entry.set("name", rdma.name)
        .set("uverbs", rdma.uverbs)
        .set("ucm", rdma.ucm)
        .set("ports", std::move(ports));
    out.push(std::move(entry));
  }
  return out;
}

Json vdpa(const PciFunction& function) {
  if (!function.vdpa) return {};
  return Json::object()
      .set("name", function.vdpa->name)
      .set("driver", function.vdpa->driver)
      .set("node", function.vdpa->node);
}

Json host_use(const PciFunction& function) {
  Json out = Json::array();
  for (const HostUseFact& fact : function.host_use) {
    const char* kind = "address";
    if (fact.kind == HostUseFact::Kind::default_route) kind = "default_route";
    if (fact.kind == HostUseFact::Kind::member) kind = "member";
    if (fact.kind == HostUseFact::Kind::unseen) kind = "unseen";
    out.push(Json::object().set("kind", kind).set("what", fact.what));
  }
  return out;
}

void set_facts(const PciFunction& function, Json& out) {
  out.set("class", function.class_code).set("vendor", function.vendor).set("device", function.device);
  out.set("subsystem_vendor", function.subsystem_vendor).set("subsystem_device", function.subsystem_device);
  out.set("driver", function.driver.name());
  out.set("pcie_path", Json(function.pcie_path));
  out.set("numa_node", function.numa_node ? Json(*function.numa_node) : Json());
  out.set("acpi_index", function.acpi_index);
  out.set("pf", function.pf ? Json(function.pf->text()) : Json()).set("pf_name", function.pf_name);
  out.set("vf_index", function.is_vf() && function.vf_index >= 0 ? Json(function.vf_index) : Json());
  out.set("total_vfs", function.total_vfs).set("num_vfs", function.num_vfs);
  out.set("link_type", function.link_type);
  out.set("netdevs", netdevs(function));
  out.set("rdma", rdma_devices(function));
  out.set("rdma_capable", function.rdma_capable).set("rdma_capable_why", function.rdma_capable_why);
  out.set("verbs_nodes", Json(function.verbs_nodes));
  out.set("iommu_group", function.iommu_group)
      .set("vfio_noiommu", function.vfio_noiommu)
      .set("uio", function.uio);
  out.set("vdpa", vdpa(function));
  out.set("ddp_profile", function.ddp_profile).set("pkey", function.pkey);
  out.set("host_use", host_use(function));
  out.set("in_a_pod", function.away() && function.attached);
  out.set("elsewhere", function.away() && !function.attached);
}

Json pool_json(const Pool& pool) {
  Json devices = Json::array();
  for (const PoolDevice& device : pool.devices) {
    Json extra = Json::object();
    for (const auto& [key, value] : device.extra) extra.set(key, value);
    Json handed_out = Json::object();
    handed_out.set("rdma", device.rdma).set("vhost_net", device.vhost_net).set("vdpa_type", device.vdpa_type);
    handed_out.set("extra", std::move(extra));
    Json entry = Json::object();
    entry.set("id", device.id());
    set_facts(device.facts, entry);
    entry.set("handed_out", std::move(handed_out));
    entry.set("healthy", device.fault.empty())
        .set("fault", device.fault.text)
        .set("fault_code", name_of(device.fault.code));
    devices.push(std::move(entry));
  }
  return Json::object().set("resource", pool.resource()).set("devices", std::move(devices));
}

}  // namespace

Json render_json(const Report& report) {
  std::map<std::string, const PciFunction*> functions;
  for (const PciFunction& function : report.inventory.functions) functions[function.id.text()] = &function;
  Json pools = Json::array();
  for (const Pool& pool : report.pools.pools) pools.push(pool_json(pool));
  Json left_out = Json::array();
  for (const LeftOut& left : report.pools.left_out) {
    Json entry = Json::object();
    entry.set("id", left.id).set("reasons", Json(left.reasons));
    if (const auto found = functions.find(left.id); found != functions.end())
      set_facts(*found->second, entry);
    left_out.push(std::move(entry));
  }
  Json lags = Json::array();
  for (const Lag& lag : report.inventory.lags)
    lags.push(Json::object().set("name", lag.name).set("mode", lag.mode).set("members", Json(lag.members)));
  Json mode;
  if (const auto& known = report.inventory.rdma_netns_mode) {
    mode = *known == RdmaNetnsMode::exclusive ? "exclusive" : "shared";
  }
  Json out = Json::object();
  out.set("schema", kInspectSchema);
  out.set("pools", std::move(pools)).set("left_out", std::move(left_out));
  out.set("lags", std::move(lags));
  out.set("rdma_netns_mode", std::move(mode)).set("warnings", Json(report.warnings));
  return out;
}

}  // namespace vfrail

#include "plugin/admin/report/report.h"
#include "plugin/admin/report/report_distance.h"
#include "plugin/admin/report/report_trace.h"
#include "plugin/device/match/units.h"
#include "plugin/device/prefer/preferred.h"

namespace vfrail::plugin {

namespace {

Json netdevs(const DeviceFacts& function) {
  Json out = Json::array();
  for (const Netdev& netdev : function.netdevs) {
    Json entry = Json::object();
    entry.set("name", netdev.name).set("mac", netdev.mac.text()).set("mtu", netdev.mtu);
    entry.set("type", int{netdev.type}).set("operstate", netdev.operstate).set("carrier", netdev.carrier);
    out.push(std::move(entry));
  }
  return out;
}

Json rdma_devices(const DeviceFacts& function) {
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

Json vdpa(const DeviceFacts& function) {
  if (!function.vdpa) return {};
  return Json::object()
      .set("name", function.vdpa->name)
      .set("driver", function.vdpa->driver.name())
      .set("node", function.vdpa->node);
}

Json host_use(const DeviceFacts& function) {
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

void set_facts(const DeviceFacts& function, Json& out) {
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
}

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

// Of all GPUs, by their addresses.
Json gpu_distances(const DeviceFacts& function, const std::vector<Gpu>& gpus) {
  Json out = Json::object();
  for (const Gpu& gpu : gpus) out.set(gpu.address.text(), word(distance(place_of(function), place_of(gpu))));
  return out;
}

Json resources_of(const DeviceReport& device) {
  Json out = Json::array();
  for (const ResourceUse& use : device.resources) {
    const PoolDevice& in_pool = *use.device;
    Json extra = Json::object();
    for (const auto& [key, value] : in_pool.extra) extra.set(key, value);
    Json allocates = Json::object();
    allocates.set("rdma", in_pool.rdma).set("vhost_net", in_pool.vhost_net);
    allocates.set("vdpa_type", in_pool.vdpa_type).set("extra", std::move(extra));
    Json entry = Json::object();
    entry.set("name", use.pool->resource()).set("healthy", in_pool.fault.empty());
    entry.set("fault", in_pool.fault.text).set("fault_code", name_of(in_pool.fault.code));
    entry.set("fault_id", in_pool.fault.empty() ? Json() : Json(id_text(id_of(in_pool.fault.code))));
    entry.set("allocates", std::move(allocates));
    out.push(std::move(entry));
  }
  return out;
}

Json reasons_of(const DeviceReport& device) {
  Json out = Json::array();
  for (const Reason& reason : device.reasons)
    out.push(Json::object()
                 .set("id", id_text(reason.id))
                 .set("text", reason.text)
                 .set("resources", Json(reason.resources)));
  return out;
}

Json pods_of(const DeviceReport& device) {
  Json out = Json::array();
  for (const PodUse& use : device.pods) {
    const char* source = "kubelet";
    if (use.source == PodUse::Source::record) source = "record";
    if (use.source == PodUse::Source::claim) source = "claim";
    out.push(Json::object()
                 .set("namespace", text_or_null(use.pod_namespace))
                 .set("name", text_or_null(use.pod))
                 .set("container", text_or_null(use.container))
                 .set("source", source)
                 .set("claim", text_or_null(use.claim))
                 .set("request", text_or_null(use.request)));
  }
  return out;
}

Json device_json(const DeviceReport& device, const InspectFacts& facts, const JsonParts& parts) {
  Json out = Json::object();
  out.set("id", device.id()).set("state", name_of(device.state));
  out.set("resources", resources_of(device)).set("reasons", reasons_of(device)).set("pods", pods_of(device));
  out.set("vendor_name", text_or_null(device.hardware.vendor_name));
  out.set("device_name", text_or_null(device.hardware.device_name));
  out.set("speed_mbps", device.hardware.speed_mbps ? Json(*device.hardware.speed_mbps) : Json());
  out.set("gpu_distances", gpu_distances(*device.function, facts.inventory.gpus));
  set_facts(*device.function, out);
  if (parts.explanations && device.trace != nullptr) out.set("explanation", trace_json(*device.trace));
  return out;
}

// Null: by the device plugin.
Json dra_json(const Pool& pool, const ClaimFacts& claims) {
  if (!claims.offer || !claims.offer->has(pool.resource())) return {};
  const OfferState& offer = *claims.offer;
  return Json::object()
      .set("driver", offer.driver)
      .set("pool", text_or_null(offer.node))
      .set("published", offer.published)
      .set("not_published_reason", text_or_null(offer.reason))
      .set("not_published_id", text_or_null(offer.id));
}

Json resource_json(const Pool& pool, const ClaimFacts& claims) {
  Json devices = Json::array();
  for (const PoolDevice& device : pool.devices) devices.push(device.id());
  const std::vector<Unit> units = make_units(pool);
  return Json::object()
      .set("name", pool.resource())
      .set("preferred_allocation", word(preference_of(pool)))
      .set("units", static_cast<int64_t>(units.size()))
      .set("healthy_units", static_cast<int64_t>(count_healthy(units)))
      .set("devices", std::move(devices))
      .set("dra", dra_json(pool, claims));
}

Json gpus_json(const Inventory& inventory) {
  Json out = Json::array();
  for (const Gpu& gpu : inventory.gpus) {
    out.push(Json::object()
                 .set("address", gpu.address.text())
                 .set("vendor", gpu.vendor)
                 .set("numa_node", gpu.numa_node ? Json(*gpu.numa_node) : Json()));
  }
  return out;
}

Json rdma_mode(const Inventory& inventory) {
  if (!inventory.rdma_netns_mode) return {};
  return *inventory.rdma_netns_mode == RdmaNetnsMode::exclusive ? "exclusive" : "shared";
}

}  // namespace

Json render_json(const NodeReport& report, const JsonParts& parts) {
  const InspectFacts& facts = report.facts;
  Json resources = Json::array();
  for (const Pool& pool : facts.pools.pools) resources.push(resource_json(pool, facts.claims));
  Json devices = Json::array();
  for (const DeviceReport& device : report.devices) {
    if (device.shown) devices.push(device_json(device, facts, parts));
  }
  Json unread = Json::array();
  for (const UnreadDevice& device : facts.inventory.unread)
    unread.push(Json::object()
                    .set("id", device.id)
                    .set("reason", device.reason)
                    .set("reason_id", id_text(ErrorId::device_not_read)));
  Json bonds = Json::array();
  for (const Lag& lag : facts.inventory.lags)
    bonds.push(Json::object().set("name", lag.name).set("mode", lag.mode).set("members", Json(lag.members)));
  Json out = Json::object();
  out.set("schema_version", kSchemaVersion).set("config_file", text_or_null(facts.config_file));
  out.set("rdma_netns_mode", rdma_mode(facts.inventory));
  out.set("resources", std::move(resources)).set("devices", std::move(devices));
  out.set("unread", std::move(unread)).set("gpus", gpus_json(facts.inventory));
  out.set("bonds", std::move(bonds)).set("warnings", Json(lines_of(facts.warnings)));
  if (parts.distances) out.set("distances", distances_json(facts.inventory, facts.pools));
  return out;
}

}  // namespace vfrail::plugin

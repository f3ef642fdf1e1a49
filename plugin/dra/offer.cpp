#include "plugin/dra/offer.h"

#include "plugin/device/prefer/distance.h"
#include "plugin/device/prefer/preferred.h"
#include "plugin/dra/slice_devices.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

namespace vfrail::plugin {

namespace {

constexpr const char* kStandard = "resource.kubernetes.io/";
constexpr const char* kMultus = "k8s.cni.cncf.io/";
constexpr const char* kDranet = "dra.net/";
// The Go library of drivers takes four digits of a domain alone, and so may who selects by it. A domain of
// VMD has five.
constexpr size_t kBusIdLength = std::string_view("0000:3b:02.1").size();

class Attributes {
 public:
  void text(const std::string& name, std::string value) { add(name, "string", std::move(value)); }
  void number(const std::string& name, int value) { add(name, "int", value); }
  void version(const std::string& name, std::string value) { add(name, "version", std::move(value)); }
  void boolean(const std::string& name, bool value) { add(name, "bool", value); }
  Json take() { return std::move(all_); }

 private:
  void add(const std::string& name, const char* type, Json value) {
    Json typed;
    typed.set(type, std::move(value));
    all_.set(name, std::move(typed));
  }
  Json all_ = Json::object();
};

const char* kind_of(const Pool& pool, const DeviceFacts& function) {
  if (pool.config.unit == UnitKind::bundle) return "bundle";
  if (shares(pool.config)) return "shared";
  if (function.kind == FunctionKind::sub_function) return "sf";
  if (function.kind == FunctionKind::accelerator) return "accelerator";
  return function.is_vf() ? "vf" : "pf";
}

// Of a bundle its first device's: the others are on other rails.
void add_place(const DeviceFacts& function, const PortDetails& port, const OfferOptions& options,
               Attributes& out) {
  const std::string address = function.address.text();
  if (address.size() == kBusIdLength) out.text(std::string(kStandard) + "pciBusID", address);
  const std::string data_direct = port.data_direct_root.value_or("");
  std::string root = function.pcie_path.empty() ? "" : function.pcie_path.front();
  if (options.root_of_data_direct && !data_direct.empty()) root = data_direct;
  if (!root.empty()) out.text(std::string(kStandard) + "pcieRoot", root);
  out.text("dataDirectPcieRoot", data_direct);
  // Two devices of which it is not known would match each other by -1.
  if (function.numa_node) out.number(std::string(kStandard) + "numaNode", *function.numa_node);
  out.text("pcieSwitch", place_of(function).pcie_switch);
}

void add_dranet(const DeviceFacts& function, bool rdma, const HostNames& names, Attributes& out) {
  const std::string domain = kDranet;
  out.boolean(domain + "rdma", rdma);
  out.text(domain + "ifName", names.netdev);
  out.text(domain + "rdmaDevice", names.rdma);
  if (function.numa_node) out.number(domain + "numaNode", *function.numa_node);
}

// As a version, one firmware of another form would cost the node its slices; as a text it may be anything.
void add_port(const PortDetails& port, Attributes& out) {
  const std::string version = semantic_version(port.firmware);
  out.text("firmware", port.firmware);
  out.version("firmwareVersion", version.empty() ? "0.0.0" : version);
  out.number("bandwidthGbps", static_cast<int>(port.gbps));
}

// What a claim of Multus' resolver, and of the administrator's selectors, finds the device by.
Json attributes_of(const Pool& pool, const SliceDevice& offered, const OfferOptions& options,
                   const HostNames& names, const PortDetails& port) {
  const PoolDevice& device = *offered.unit->devices.front();
  const DeviceFacts& function = device.facts;
  Attributes out;
  add_place(function, port, options, out);
  // What the host keeps is named so that no CNI plugin takes it for a device to move.
  out.text(std::string(kMultus) + "deviceID", offered.step == 0 ? offered.unit->id : offered.name);
  out.text(std::string(kMultus) + "resourceName", pool.resource());
  out.text("kind", kind_of(pool, function));
  out.text("pool", pool.resource());
  out.text("pfName", function.pf_name);
  out.text("pfPciBusID", function.pf ? function.pf->text() : "");
  out.number("vfIndex", function.vf_index);
  out.text("vendor", function.vendor);
  out.text("product", function.device);
  out.text("driver", function.driver.name());
  out.text("linkType", function.link_type);
  out.boolean("rdma", function.rdma_capable);
  add_port(port, out);
  if (options.for_dranet) add_dranet(function, function.rdma_capable, names, out);
  return out.take();
}

std::string fault_code(const Unit& unit) {
  for (const PoolDevice* device : unit.devices) {
    if (!device->fault.empty()) return name_of(device->fault.code);
  }
  return "incomplete";
}

Json taints_of(const Unit& unit) {
  Json taint;
  taint.set("key", kUnhealthyTaint);
  taint.set("value", fault_code(unit));
  // A pod that runs keeps it: its port may be back in a second.
  taint.set("effect", "NoSchedule");
  Json out;
  out.push(std::move(taint));
  return out;
}

// By which the units of a pool are sorted; equal ones stay in the order of their addresses.
using Rank = std::tuple<int, size_t>;

Distance nearest_gpu(const Pool& pool, const Unit& unit) {
  Distance out = Distance::sys;
  if (pool.gpus == nullptr) return out;
  for (const Gpu& gpu : *pool.gpus)
    out = std::min(out, distance(place_of(gpu), place_of(unit.devices.front()->facts)));
  return out;
}

std::vector<Rank> ranks_of(const PublishedPool& pool) {
  std::map<PciAddress, size_t> of_port;  // units of a port so far
  std::vector<Rank> out;
  for (const Unit& unit : pool.units()) {
    const DeviceFacts& function = unit.devices.front()->facts;
    switch (preference_of(*pool)) {
      case Preference::spread:
      case Preference::distinct_pf:
      case Preference::rail:
        out.emplace_back(0, of_port[port_of(function)]++);
        break;
      case Preference::pcie:
        out.emplace_back(static_cast<int>(nearest_gpu(*pool, unit)), of_port[port_of(function)]++);
        break;
      case Preference::numa:
        out.emplace_back(function.numa_node.value_or(-1), 0);
        break;
      case Preference::pack:
      case Preference::none:
        out.emplace_back(0, 0);
        break;
    }
  }
  return out;
}

std::vector<SliceDevice> in_order(const PublishedPool& pool, uint32_t lanes) {
  std::vector<SliceDevice> devices = slice_devices(pool, lanes);
  if (shares(pool->config)) return devices;
  const std::vector<Rank> ranks = ranks_of(pool);
  std::vector<size_t> order(ranks.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return ranks[a] < ranks[b]; });
  std::vector<SliceDevice> out;
  for (const size_t at : order) out.push_back(std::move(devices[at]));
  return out;
}

// A request that does not say how many shares it takes takes one, as a container does that asks kubelet for
// one. None takes more at once: what it would get is the same.
Json capacity_of(const SliceDevice& device) {
  const Json range = Json::object().set("min", "1").set("max", "1").set("step", "1");
  Json shares = Json::object();
  shares.set("value", std::to_string(device.shares));
  shares.set("requestPolicy", Json::object().set("default", "1").set("validRange", range));
  return Json::object().set("shares", std::move(shares));
}

HostNames names_of(const DeviceFacts& function, const std::string& id, KnownNames& names) {
  HostNames& known = names[id];
  if (!function.netdevs.empty()) known.netdev = function.netdev_names().front();
  if (!function.rdma.empty()) known.rdma = function.rdma_names().front();
  return known;
}

PortDetails port_of(const SliceDevice& device, const PortsByFunction& ports) {
  const auto at = ports.find(port_of(device.unit->devices.front()->facts));
  return at == ports.end() ? PortDetails() : at->second;
}

OfferedDevice offer_device(const Pool& pool, SliceDevice device, const OfferOptions& options,
                           const PortsByFunction& ports, KnownNames& names) {
  const Unit& unit = *device.unit;
  const PoolDevice& first = *unit.devices.front();
  // Those of what the host keeps do not change.
  const HostNames host = names_of(first.facts, device.step == 0 ? unit.id : first.id(), names);
  OfferedDevice out{device.name, pool.resource(), unit.id, {}};
  out.device.set("name", device.name);
  if (device.step != 0) out.device.set("allowMultipleAllocations", true);
  out.device.set("attributes", attributes_of(pool, device, options, host, port_of(device, ports)));
  if (device.step != 0) out.device.set("capacity", capacity_of(device));
  if (!unit.fault.empty()) out.device.set("taints", taints_of(unit));
  return out;
}

}  // namespace

std::vector<OfferedDevice> make_offer(const std::vector<PublishedPool>& pools, const DevicesInUse& in_use,
                                      const OfferOptions& options, KnownNames& names,
                                      const PortsByFunction& ports) {
  std::vector<OfferedDevice> out;
  std::set<std::string> known;
  std::set<std::string> taken;  // names; with one twice the API server refuses the whole slice
  for (const PublishedPool& pool : pools) {
    for (SliceDevice& device : in_order(pool, options.lanes)) {
      const bool shared = device.step != 0;
      known.insert(shared ? device.unit->devices.front()->id() : device.unit->id);
      if (!shared && in_use.find(pool->resource(), device.unit->id) != nullptr) continue;
      if (taken.insert(device.name).second)
        out.push_back(offer_device(*pool, std::move(device), options, ports, names));
    }
  }
  std::erase_if(names, [&](const auto& one) { return !known.contains(one.first); });
  return out;
}

Json find_attributes(const PublishedPool& pool, const std::string& device, const OfferOptions& options,
                     const PortsByFunction& ports) {
  for (const SliceDevice& one : slice_devices(pool, options.lanes)) {
    if (one.name != device) continue;
    KnownNames names;
    const PoolDevice& first = *one.unit->devices.front();
    return attributes_of(*pool, one, options, names_of(first.facts, first.id(), names), port_of(one, ports));
  }
  return {};
}

}  // namespace vfrail::plugin

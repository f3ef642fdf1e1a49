#include "plugin/dra/offer.h"

#include "plugin/device/prefer/distance.h"
#include "plugin/device/prefer/preferred.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <tuple>
#include <utility>

namespace vfrail::plugin {

namespace {

constexpr const char* kStandard = "resource.kubernetes.io/";
constexpr const char* kMultus = "k8s.cni.cncf.io/";
constexpr const char* kDranet = "dra.net/";
// A label of RFC 1123. The end of a longer name is what differs within a pool.
constexpr size_t kMaxDeviceName = 63;
// The Go library of drivers takes four digits of a domain alone, and so may who selects by it. A domain of
// VMD has five.
constexpr size_t kBusIdLength = std::string_view("0000:3b:02.1").size();

class Attributes {
 public:
  void text(const std::string& name, std::string value) { add(name, "string", std::move(value)); }
  void number(const std::string& name, int value) { add(name, "int", value); }
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
  if (function.kind == FunctionKind::sub_function) return "sf";
  if (function.kind == FunctionKind::accelerator) return "accelerator";
  return function.is_vf() ? "vf" : "pf";
}

// Of a bundle its first device's: the others are on other rails.
void add_place(const DeviceFacts& function, Attributes& out) {
  const std::string address = function.address.text();
  if (address.size() == kBusIdLength) out.text(std::string(kStandard) + "pciBusID", address);
  if (!function.pcie_path.empty()) out.text(std::string(kStandard) + "pcieRoot", function.pcie_path.front());
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

// What a claim of Multus' resolver, and of the administrator's selectors, finds the device by.
Json attributes_of(const Pool& pool, const Unit& unit, const OfferOptions& options, const HostNames& names) {
  const PoolDevice& device = *unit.devices.front();
  const DeviceFacts& function = device.facts;
  Attributes out;
  add_place(function, out);
  out.text(std::string(kMultus) + "deviceID", unit.id);
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

std::vector<const Unit*> in_order(const PublishedPool& pool) {
  const std::vector<Rank> ranks = ranks_of(pool);
  std::vector<size_t> order(ranks.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return ranks[a] < ranks[b]; });
  std::vector<const Unit*> out;
  for (const size_t at : order) out.push_back(&pool.units()[at]);
  return out;
}

HostNames names_of(const DeviceFacts& function, const std::string& id, KnownNames& names) {
  HostNames& known = names[id];
  if (!function.netdevs.empty()) known.netdev = function.netdev_names().front();
  if (!function.rdma.empty()) known.rdma = function.rdma_names().front();
  return known;
}

OfferedDevice offer_unit(const Pool& pool, const Unit& unit, const OfferOptions& options, KnownNames& names) {
  OfferedDevice out{device_name(pool, unit), pool.resource(), unit.id, {}};
  const HostNames host = names_of(unit.devices.front()->facts, unit.id, names);
  out.device.set("name", out.name);
  out.device.set("attributes", attributes_of(pool, unit, options, host));
  if (!unit.fault.empty()) out.device.set("taints", taints_of(unit));
  return out;
}

}  // namespace

bool goes_by_claims(const ResourceConfig& resource) { return !shares(resource); }

std::string device_name(const Pool& pool, const Unit& unit) {
  // The names of units that are not devices are of their pool alone.
  std::string out = pool.config.unit == UnitKind::bundle ? pool.resource() + "-" + unit.id : unit.id;
  for (char& letter : out) {
    const auto byte = static_cast<unsigned char>(letter);
    letter = std::isalnum(byte) != 0 ? static_cast<char>(std::tolower(byte)) : '-';
  }
  if (out.size() > kMaxDeviceName) out.erase(0, out.size() - kMaxDeviceName);
  out.erase(0, out.find_first_not_of('-'));
  return out;
}

std::vector<OfferedDevice> make_offer(const std::vector<PublishedPool>& pools, const DevicesInUse& in_use,
                                      const OfferOptions& options, KnownNames& names) {
  std::vector<OfferedDevice> out;
  std::set<std::string> known;
  std::set<std::string> taken;  // names; with one twice the API server refuses the whole slice
  for (const PublishedPool& pool : pools) {
    if (!goes_by_claims(pool->config)) continue;
    for (const Unit* unit : in_order(pool)) {
      known.insert(unit->id);
      if (in_use.find(pool->resource(), unit->id) != nullptr) continue;
      OfferedDevice offered = offer_unit(*pool, *unit, options, names);
      if (taken.insert(offered.name).second) out.push_back(std::move(offered));
    }
  }
  std::erase_if(names, [&](const auto& one) { return !known.contains(one.first); });
  return out;
}

}  // namespace vfrail::plugin

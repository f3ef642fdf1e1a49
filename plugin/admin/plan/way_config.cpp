#include "plugin/admin/plan/way_config.h"

#include "plugin/admin/plan/ways.h"
#include "plugin/device/config/formats/parse_config.h"

#include <algorithm>
#include <set>

namespace vfrail::plugin {

namespace {

using Devices = std::vector<const DeviceFacts*>;
using Texts = std::set<std::string>;

Json json_of(const Texts& texts) { return Json(std::vector<std::string>(texts.begin(), texts.end())); }

const char* link_name(Transport fabric) {
  switch (fabric) {
    case Transport::infiniband:
      return "ib";
    case Transport::iwarp:
      return "iwarp";
    case Transport::own:
      return "nic";
    default:
      return "roce";
  }
}

// "connectx5" of "ConnectX-5" and of "MT27800 Family [ConnectX-5]"; of a model without a short name its PCI
// ids.
std::string model_word(const PlanFacts& facts, const DeviceFacts& card) {
  const auto at = facts.hardware.find(card.id.text());
  std::string name = at == facts.hardware.end() ? "" : at->second.device_name;
  if (const size_t begin = name.find('['); begin != std::string::npos)
    name = name.substr(begin + 1, name.find(']', begin) - begin - 1);
  std::string out;
  for (const char c : name) {
    if (c >= 'A' && c <= 'Z') out += static_cast<char>(c - 'A' + 'a');
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) out += c;
  }
  constexpr size_t kShort = 16;
  return out.empty() || out.size() > kShort ? card.vendor + card.device : out;
}

std::string base_name(const PlanFacts& facts, const RailGroup& group) {
  if (!facts.name.empty()) return facts.name;
  std::string speed = model_word(facts, group.rails.front().any());
  if (group.speed_mbps)
    speed = *group.speed_mbps < 1000 ? std::to_string(*group.speed_mbps) + "m"
                                     : std::to_string(*group.speed_mbps / 1000) + "g";
  return std::string(link_name(group.fabric)) + "_" + speed;
}

const char* suffix_of(const RailGroup& group, WayKind kind) {
  switch (kind) {
    case WayKind::bundle:
      return "_rails";
    case WayKind::per_rail:
      return "_rail";
    case WayKind::shared:
      return "_shared";
    case WayKind::vfs:
      return "_vf";
    case WayKind::sub_functions:
      return "_sf";
    default:
      return group.passed_through() ? "_whole" : "_pf";
  }
}

// A name that the user chose is the whole name, but for rails, which need one each.
std::string name_of_resource(const PlanFacts& facts, const RailGroup& group, WayKind kind) {
  const bool chosen = !facts.name.empty() && kind != WayKind::per_rail;
  return base_name(facts, group) + (chosen ? "" : suffix_of(group, kind));
}

Devices members_of(const RailGroup& group, WayKind kind) {
  const bool of_rails = kind == WayKind::bundle || kind == WayKind::per_rail;
  return kind == WayKind::vfs || (of_rails && group.has_vfs()) ? group.vfs() : group.cards();
}

// What the members have in common. VFs that do not exist yet have ids that nobody knows, so those are
// selected by their PFs, as sub-functions are.
Json common_selectors(const RailGroup& group, const Devices& members, WayKind kind) {
  Texts vendors;
  Texts devices;
  Texts links;
  Texts roots;
  const bool to_be_made = members.empty() || kind == WayKind::sub_functions;
  for (const DeviceFacts* device : to_be_made ? group.cards() : members) {
    vendors.insert(device->vendor);
    devices.insert(device->device);
    links.insert(device->link_type);
    roots.insert(device->id.text());
  }
  Json out = Json::object();
  out.set("vendors", json_of(vendors));
  if (kind == WayKind::sub_functions) out.set("auxTypes", Json(std::vector<std::string>{"sf"}));
  // As each of the two formats calls it.
  if (!to_be_made) out.set(kind == WayKind::shared ? "deviceIDs" : "devices", json_of(devices));
  if (!links.contains("")) out.set("linkTypes", json_of(links));
  if (to_be_made)
    out.set("rootDevices", json_of(roots));
  else if (members.front()->is_vf() || !group.passed_through())
    out.set("isPf", !members.front()->is_vf());
  if (kind != WayKind::shared) out.set("isRdma", true);
  return out;
}

Json entry_of(const RailGroup& group, const std::string& name, WayKind kind, Json selectors) {
  Json entry = Json::object();
  entry.set("resourcePrefix", "rdma").set("resourceName", name);
  if (kind == WayKind::sub_functions) entry.set("deviceType", "auxNetDevice");
  if (kind == WayKind::bundle) entry.set("bundle", true);
  // The cards that are nearest to the pod's GPUs, as far as kubelet asks.
  if (kind == WayKind::whole || kind == WayKind::vfs) entry.set("preferredAllocation", "pcie");
  if (kind == WayKind::shared) entry.set("rdmaHcaMax", kPodsOfNode);
  // A function with an address of the host is not given away; that it is shared takes nothing from the host.
  entry.set("hostUse", kind == WayKind::shared && group.addressed ? "warn" : "refuse");
  entry.set("mountCheck", true);
  return entry.set("selectors", std::move(selectors));
}

Json config_of(WayKind kind, Json entries) {
  return Json::object().set(kind == WayKind::shared ? "configList" : "resourceList", std::move(entries));
}

Json list_of(Json entry) { return Json::array().push(std::move(entry)); }

// By address where the common selectors also select what is not the group's.
Json narrow(const PlanFacts& facts, const RailGroup& group, const Devices& members, WayKind kind,
            Json entry) {
  Texts wanted;
  Texts addresses;
  Texts roots;
  for (const DeviceFacts* device : members) {
    wanted.insert(device->id.text());
    addresses.insert(device->address.text());
    if (device->pf) roots.insert(device->pf->text());
  }
  if (members.empty() || kind == WayKind::sub_functions) return entry;
  for (const Pool& pool : pools_of(config_of(kind, list_of(entry)), facts.inventory)) {
    const bool exact = std::all_of(pool.devices.begin(), pool.devices.end(),
                                   [&](const PoolDevice& device) { return wanted.contains(device.id()); });
    if (exact && kind != WayKind::per_rail && !facts.by_address) return entry;
  }
  Json selectors = *entry.find("selectors");
  if (members.front()->is_vf() && !group.passed_through())
    selectors.set("rootDevices", json_of(roots));
  else
    selectors.set("pciAddresses", json_of(addresses));
  return entry.set("selectors", std::move(selectors));
}

}  // namespace

std::string resource_of(const PlanFacts& facts, const RailGroup& group, WayKind kind) {
  if (kind == WayKind::host_network || kind == WayKind::tcp) return "";
  return "rdma/" + name_of_resource(facts, group, kind) + (kind == WayKind::per_rail ? "*" : "");
}

Json make_config(const PlanFacts& facts, const RailGroup& group, WayKind kind) {
  if (kind == WayKind::host_network || kind == WayKind::tcp) return {};
  const std::string name = name_of_resource(facts, group, kind);
  Json entries = Json::array();
  const Devices all = members_of(group, kind);
  const auto add = [&](const std::string& resource, const Devices& members) {
    Json entry = entry_of(group, resource, kind, common_selectors(group, members, kind));
    entries.push(narrow(facts, group, members, kind, std::move(entry)));
  };
  if (kind != WayKind::per_rail) {
    add(name, all);
    return config_of(kind, std::move(entries));
  }
  size_t number = 0;
  for (const Rail& rail : group.rails) {
    Devices members;
    for (const DeviceFacts* device : all) {
      if (device == rail.card || std::count(rail.vfs.begin(), rail.vfs.end(), device) > 0)
        members.push_back(device);
    }
    if (!members.empty()) add(name + std::to_string(number), members);
    ++number;
  }
  return config_of(kind, std::move(entries));
}

std::vector<Pool> pools_of(const Json& config, const Inventory& inventory) {
  // Our own text, which tests parse; what cannot be parsed selects nothing.
  const auto parsed = parse_config(config.text(), {.file = "plan"});
  return parsed ? match(*parsed, inventory).pools : std::vector<Pool>();
}

}  // namespace vfrail::plugin

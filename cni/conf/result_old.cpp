#include "cni/conf/result.h"

namespace vfrail::cni {

namespace {

// Versions 0.1.0 and 0.2.0 have no interfaces, and one address of each family with the routes below it.
constexpr std::pair<const char*, bool> kFamilies[] = {{"ip4", false}, {"ip6", true}};

bool is_v6(const Json& entry, const char* key) {
  const Json* text = entry.find(key);
  return text != nullptr && text->as_text() != nullptr && text->as_text()->find(':') != std::string::npos;
}

// Only the keys that the version knows, in this order.
Json only(const Json& object, std::initializer_list<const char*> keys) {
  Json out = Json::object();
  for (const char* key : keys) {
    if (const Json* value = object.find(key)) out.set(key, *value);
  }
  return out;
}

const Json::Array& list_in(const Json& object, const char* key) {
  static const Json::Array kNone;
  const Json* found = object.find(key);
  return found != nullptr && found->as_array() != nullptr ? *found->as_array() : kNone;
}

Json family_of_current(const Json& current, bool v6) {
  Json out;
  for (const Json& ip : list_in(current, "ips")) {
    const Json* address = ip.find("address");
    if (address == nullptr || is_v6(ip, "address") != v6) continue;
    out.set("ip", *address);
    if (const Json* gateway = ip.find("gateway")) out.set("gateway", *gateway);
    break;
  }
  if (out.is_null()) return out;
  Json routes = Json::array();
  for (const Json& route : list_in(current, "routes")) {
    if (is_v6(route, "dst") == v6) routes.push(only(route, {"dst", "gw"}));
  }
  if (!routes.as_array()->empty()) out.set("routes", std::move(routes));
  return out;
}

Json without_interfaces(const Json& current, std::string_view version) {
  Json out;
  out.set("cniVersion", version);
  for (const auto& [key, v6] : kFamilies) {
    if (Json family = family_of_current(current, v6); !family.is_null()) out.set(key, std::move(family));
  }
  const Json* dns = current.find("dns");
  out.set("dns", dns != nullptr ? *dns : Json::object());
  return out;
}

// `mtu`, `socketPath` and `pciID` of an interface and the metrics of a route came with 1.1.0. A strict reader
// of an older version refuses them.
Json interfaces_before_1_1(const Json& current) {
  Json out = Json::array();
  for (const Json& one : list_in(current, "interfaces")) out.push(only(one, {"name", "mac", "sandbox"}));
  return out;
}

Json routes_before_1_1(const Json& current) {
  Json out = Json::array();
  for (const Json& route : list_in(current, "routes")) out.push(only(route, {"dst", "gw"}));
  return out;
}

// 0.3.0 to 0.4.0: also the family of each address, and `dns` always printed, which some readers expect.
Json with_families(const Json& current, std::string_view version) {
  Json interfaces = interfaces_before_1_1(current);
  Json ips = Json::array();
  for (const Json& ip : list_in(current, "ips")) {
    if (ip.as_object() == nullptr) continue;
    Json entry;
    entry.set("version", is_v6(ip, "address") ? "6" : "4");
    for (const auto& [key, value] : *ip.as_object()) entry.set(key, value);
    ips.push(std::move(entry));
  }
  Json routes = routes_before_1_1(current);
  Json out;
  out.set("cniVersion", version).set("interfaces", std::move(interfaces));
  if (!ips.as_array()->empty()) out.set("ips", std::move(ips));
  if (!routes.as_array()->empty()) out.set("routes", std::move(routes));
  const Json* dns = current.find("dns");
  return out.set("dns", dns != nullptr ? *dns : Json::object());
}

void add_family(const Json& family, Json& ips, Json& routes) {
  if (family.as_object() == nullptr) {
    ips.push(family);  // the reader of the list reports the fault
    return;
  }
  Json entry = Json::object();
  if (const Json* address = family.find("ip")) entry.set("address", *address);
  if (const Json* gateway = family.find("gateway")) entry.set("gateway", *gateway);
  ips.push(std::move(entry));
  for (const Json& route : list_in(family, "routes")) routes.push(route);
}

}  // namespace

Json current_result(const Json& result) {
  if (result.as_object() == nullptr) return result;
  Json out = Json::object();
  Json ips = Json::array();
  Json routes = Json::array();
  for (const auto& [key, value] : *result.as_object()) {
    const bool empty_dns = key == "dns" && value == Json::object();
    if (key != "ip4" && key != "ip6" && !empty_dns) out.set(key, value);
  }
  for (const auto& [key, v6] : kFamilies) {
    if (const Json* family = result.find(key)) add_family(*family, ips, routes);
  }
  if (!ips.as_array()->empty()) out.set("ips", std::move(ips));
  if (!routes.as_array()->empty()) out.set("routes", std::move(routes));
  return out;
}

Json result_in_version(Json current, std::string_view version) {
  if (is_without_interfaces(version)) return without_interfaces(current, version);
  if (compare_versions(version, "1.0.0") < 0) return with_families(current, version);
  current.set("cniVersion", version);
  return current;
}

Json without_fields_of_1_1(Json result) {
  if (result.find("interfaces") != nullptr) result.set("interfaces", interfaces_before_1_1(result));
  if (result.find("routes") != nullptr) result.set("routes", routes_before_1_1(result));
  return result;
}

bool is_without_interfaces(std::string_view version) { return version == "0.1.0" || version == "0.2.0"; }

}  // namespace vfrail::cni

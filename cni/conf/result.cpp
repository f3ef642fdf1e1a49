#include "cni/conf/result.h"

#include "common/escape.h"

#include <algorithm>
#include <array>

namespace vfrail::cni {

namespace {

constexpr std::array<std::string_view, 7> kVersions = {"0.1.0", "0.2.0", "0.3.0",       "0.3.1",
                                                       "0.4.0", "1.0.0", kNewestVersion};
// More than any pod has; it bounds the work that an IPAM plugin can cause.
constexpr size_t kMaxEntries = 1024;

Error malformed(std::string_view what) { return Error{Errc::protocol, 0, std::string(what)}; }

Result<std::optional<IpAddress>> read_ip(ObjectReader& reader, std::string_view key) {
  const auto text = TRY(reader.text(key));
  if (!text || text->empty()) return std::optional<IpAddress>();
  const auto ip = IpAddress::parse(*text);
  if (!ip) return reader.error(key, "\"" + text->substr(0, 60) + "\" is not an IP address");
  return ip;
}

Result<IpAddress> read_cidr(ObjectReader& reader, std::string_view key) {
  const std::string text = TRY(reader.text(key)).value_or("");
  const auto ip = IpAddress::parse_cidr(text);
  if (!ip)
    return reader.error(
        key, "\"" + text.substr(0, 60) + "\" is not an address with a prefix length (10.1.2.3/24)");
  return *ip;
}

Result<std::optional<uint32_t>> read_u32(ObjectReader& reader, std::string_view key) {
  const auto number = TRY(reader.integer(key, 0, UINT32_MAX));
  return number ? std::optional<uint32_t>(static_cast<uint32_t>(*number)) : std::nullopt;
}

Result<AssignedRoute> read_route(const Json::Object& object, const std::string& path) {
  ObjectReader reader(object, path);
  AssignedRoute out;
  out.destination = TRY(read_cidr(reader, "dst"));
  out.gateway = TRY(read_ip(reader, "gw"));
  out.mtu = TRY(read_u32(reader, "mtu"));
  out.advmss = TRY(read_u32(reader, "advmss"));
  out.priority = TRY(read_u32(reader, "priority"));
  out.table = TRY(read_u32(reader, "table"));
  if (const auto scope = TRY(reader.integer("scope", 0, 255))) out.scope = static_cast<uint8_t>(*scope);
  return out;
}

Result<std::vector<const Json::Object*>> objects(ObjectReader& reader, std::string_view key) {
  std::vector<const Json::Object*> out;
  const Json::Array* list = TRY(reader.array(key));
  if (list == nullptr) return out;
  if (list->size() > kMaxEntries)
    return reader.error(key, "more than " + std::to_string(kMaxEntries) + " entries");
  for (const Json& item : *list) {
    if (item.as_object() == nullptr)
      return reader.error(key, std::string("must be a list of objects, got ") + item.type_name());
    out.push_back(item.as_object());
  }
  return out;
}

Json format_dns(const Dns& dns) {
  Json out = Json::object();
  if (!dns.nameservers.empty()) out.set("nameservers", Json(dns.nameservers));
  if (!dns.domain.empty()) out.set("domain", dns.domain);
  if (!dns.search.empty()) out.set("search", Json(dns.search));
  if (!dns.options.empty()) out.set("options", Json(dns.options));
  return out;
}

constexpr std::string_view kWithoutFieldsOf11 = "1.0.0";

Json format_interface(const AddResult& result) {
  const bool all = result.cni_version != kWithoutFieldsOf11;
  Json out;
  out.set("name", result.ifname);
  if (!result.mac.empty()) out.set("mac", result.mac);
  if (result.mtu != 0 && (all || result.mtu_in_1_0)) out.set("mtu", result.mtu);
  out.set("sandbox", result.sandbox);
  if (!result.pci_id.empty() && all) out.set("pciID", result.pci_id);
  return out;
}

Json format_ip(const AssignedIp& ip, size_t interface) {
  Json out;
  out.set("interface", static_cast<int64_t>(interface));
  out.set("address", ip.address.cidr());
  if (ip.gateway) out.set("gateway", ip.gateway->text());
  return out;
}

Json format_route(const AssignedRoute& route, std::string_view version) {
  Json out;
  out.set("dst", route.destination.cidr());
  if (route.gateway) out.set("gw", route.gateway->text());
  if (version == kWithoutFieldsOf11) return out;
  if (route.mtu) out.set("mtu", *route.mtu);
  if (route.advmss) out.set("advmss", *route.advmss);
  if (route.priority) out.set("priority", *route.priority);
  if (route.table) out.set("table", *route.table);
  if (route.scope) out.set("scope", int{*route.scope});
  return out;
}

// A member of a previous result, its key matched as everywhere.
const Json* member_of(const Json& previous, std::string_view key) {
  if (previous.as_object() == nullptr) return nullptr;
  return ObjectReader(*previous.as_object(), "").value(key);
}

// A list of a previous result that this result is appended to.
Json list_of(const Json& previous, std::string_view key) {
  const Json* found = member_of(previous, key);
  return found != nullptr && found->as_array() != nullptr ? *found : Json::array();
}

bool is_interface(const Json::Object& object, std::string_view ifname, std::string_view sandbox) {
  ObjectReader reader(object, "");
  const Json* name = reader.value("name");
  const Json* where = reader.value("sandbox");
  return name != nullptr && *name == Json(ifname) && where != nullptr && *where == Json(sandbox);
}

Result<Assignment> read_assignment(const Json& json) {
  if (json.as_object() == nullptr)
    return malformed(std::string("must be an object, got ") + json.type_name());
  ObjectReader reader(*json.as_object(), "");
  Assignment out;
  size_t at = 0;
  for (const Json::Object* object : TRY(objects(reader, "ips"))) {
    ObjectReader ip(*object, "ips[" + std::to_string(at++) + "]");
    AssignedIp assigned;
    assigned.address = TRY(read_cidr(ip, "address"));
    assigned.gateway = TRY(read_ip(ip, "gateway"));
    out.ips.push_back(std::move(assigned));
  }
  at = 0;
  for (const Json::Object* object : TRY(objects(reader, "routes"))) {
    out.routes.push_back(TRY(read_route(*object, "routes[" + std::to_string(at++) + "]")));
  }
  out.dns = TRY(read_dns(reader));
  return out;
}

}  // namespace

bool version_supported(std::string_view version) {
  return std::find(kVersions.begin(), kVersions.end(), version) != kVersions.end();
}

int compare_versions(std::string_view a, std::string_view b) {
  const auto rank = [](std::string_view version) {
    return std::find(kVersions.begin(), kVersions.end(), version) == kVersions.end()
               ? -1
               : static_cast<int>(std::find(kVersions.begin(), kVersions.end(), version) - kVersions.begin());
  };
  const int difference = rank(a) - rank(b);
  return difference < 0 ? -1 : difference > 0 ? 1 : 0;
}

Result<Assignment> parse_assignment(const Json& json) {
  auto out = read_assignment(current_result(json));
  // The readers return Errc::invalid, which means a configuration; here a peer broke its contract.
  if (!out) out.error().code = Errc::protocol;
  return out;
}

Result<Assignment> assignment_of(const Json& prev_result, std::string_view ifname, std::string_view sandbox) {
  Assignment out = TRY(parse_assignment(prev_result), "prevResult");
  // The same lists as parse_assignment() has read: each address has its index.
  ObjectReader reader(*prev_result.as_object(), "prevResult");
  const auto interfaces = TRY(objects(reader, "interfaces"));
  const auto ips = TRY(objects(reader, "ips"));
  Assignment mine;
  mine.routes = out.routes;
  for (size_t i = 0; i < ips.size(); ++i) {
    const auto index = TRY(ObjectReader(*ips[i], "prevResult.ips").integer("interface"));
    if (!index) continue;
    if (*index < 0 || static_cast<size_t>(*index) >= interfaces.size())
      return malformed("prevResult: ips names an interface that is not listed");
    if (is_interface(*interfaces[static_cast<size_t>(*index)], ifname, sandbox))
      mine.ips.push_back(out.ips[i]);
  }
  return mine;
}

std::optional<ResultInterface> interface_of(const Json& prev_result, std::string_view ifname,
                                            std::string_view sandbox) {
  const Json* list = member_of(prev_result, "interfaces");
  if (list == nullptr || list->as_array() == nullptr) return std::nullopt;
  for (const Json& one : *list->as_array()) {
    if (one.as_object() == nullptr || !is_interface(*one.as_object(), ifname, sandbox)) continue;
    const Json* mac = member_of(one, "mac");
    return ResultInterface{mac != nullptr && mac->as_text() != nullptr ? *mac->as_text() : ""};
  }
  return std::nullopt;
}

Dns merged_dns(Dns configured, const Dns& assigned) {
  if (configured.nameservers.empty()) configured.nameservers = assigned.nameservers;
  if (configured.domain.empty()) configured.domain = assigned.domain;
  if (configured.search.empty()) configured.search = assigned.search;
  if (configured.options.empty()) configured.options = assigned.options;
  return configured;
}

Json format_result(const AddResult& result) {
  Json previous = current_result(result.prev_result.value_or(Json::object()));
  // What an earlier plugin has put into a result of the same version is for those who read this one, too.
  const Json* came_in = member_of(previous, "cniVersion");
  const bool same_version = came_in == nullptr || *came_in == Json(result.cni_version);
  if (result.cni_version == kWithoutFieldsOf11 && !same_version)
    previous = without_fields_of_1_1(std::move(previous));
  Json interfaces = list_of(previous, "interfaces");
  const size_t index = interfaces.as_array()->size();
  if (!result.ifname.empty()) interfaces.push(format_interface(result));
  Json ips = list_of(previous, "ips");
  for (const AssignedIp& ip : result.assignment.ips) ips.push(format_ip(ip, index));
  Json routes = list_of(previous, "routes");
  for (const AssignedRoute& route : result.assignment.routes)
    routes.push(format_route(route, result.cni_version));

  Json out;
  out.set("cniVersion", kVersions.back()).set("interfaces", std::move(interfaces));
  if (!ips.as_array()->empty()) out.set("ips", std::move(ips));
  if (!routes.as_array()->empty()) out.set("routes", std::move(routes));
  const Json* previous_dns = member_of(previous, "dns");
  if (!result.assignment.dns.empty()) {
    out.set("dns", format_dns(result.assignment.dns));
  } else if (previous_dns != nullptr) {
    out.set("dns", *previous_dns);
  }
  return result_in_version(std::move(out), result.cni_version);
}

std::string version_list() {
  std::string out;
  for (const std::string_view version : kVersions) {
    out += out.empty() ? "" : version == kVersions.back() ? " and " : ", ";
    out += version;
  }
  return out;
}

Json format_versions() {
  Json list = Json::array();
  for (const std::string_view version : kVersions) list.push(version);
  Json out;
  out.set("cniVersion", kVersions.back()).set("supportedVersions", std::move(list));
  return out;
}

uint16_t cni_code(const Error& error, CniCode invalid) {
  switch (error.code) {
    case Errc::invalid:
      return static_cast<uint16_t>(invalid);
    case Errc::wrong_netns:
      return static_cast<uint16_t>(CniCode::invalid_netns);
    case Errc::unsupported:
      return static_cast<uint16_t>(CniCode::unsupported_field);
    case Errc::busy:
    case Errc::not_yet:
    case Errc::timeout:
      return static_cast<uint16_t>(CniCode::try_again_later);
    case Errc::protocol:
      return static_cast<uint16_t>(CniCode::decode_failure);
    case Errc::not_found:
      return static_cast<uint16_t>(CniCode::device_not_found);
    case Errc::exists:
      return static_cast<uint16_t>(CniCode::name_taken);
    case Errc::denied:
      return static_cast<uint16_t>(CniCode::permission_denied);
    case Errc::peer:
      return error.sys > 0 && error.sys < 65536 ? static_cast<uint16_t>(error.sys) : uint16_t{999};
    case Errc::system:
      return static_cast<uint16_t>(CniCode::kernel_refused);
  }
  return static_cast<uint16_t>(CniCode::kernel_refused);
}

Json format_error(std::string_view version, uint16_t code, const Error& error) {
  Json out;
  out.set("cniVersion", version).set("code", int{code}).set("msg", escaped(error.text));
  out.set("details", "vfrail explain " + error.id_text());
  return out;
}

}  // namespace vfrail::cni

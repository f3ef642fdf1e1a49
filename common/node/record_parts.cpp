// The parts of a record that baselines have as well: VfBefore and LinkBefore of attachment_record.h.
#include "common/node/attachment_record.h"
#include "common/node/record_fields.h"
#include "common/text.h"

#include <limits>

namespace vfrail {

Json format_vf(const VfBefore& before) {
  const VfSettings& vf = before.settings;
  Json out;
  out.set("rebind", before.rebind);
  if (vf.mac) out.set("mac", vf.mac->text());
  if (vf.vlan) {
    out.set("vlan", vf.vlan->id).set("vlanQoS", vf.vlan->priority).set("vlanProtocol", vf.vlan->protocol);
  }
  if (vf.rate) out.set("minTxRate", vf.rate->min).set("maxTxRate", vf.rate->max);
  if (vf.spoof_check) out.set("spoofCheck", *vf.spoof_check);
  if (vf.trust) out.set("trust", *vf.trust);
  if (vf.link_state) out.set("linkState", static_cast<int>(*vf.link_state));
  if (vf.node_guid) out.set("nodeGuid", format_guid(*vf.node_guid));
  if (vf.port_guid) out.set("portGuid", format_guid(*vf.port_guid));
  return out;
}

namespace {

Result<std::optional<uint64_t>> guid_of(ObjectReader& reader, std::string_view key) {
  const auto text = TRY(reader.text(key));
  if (!text) return std::optional<uint64_t>();
  const auto guid = parse_guid(*text);
  if (!guid) return reader.error(key, "no GUID");
  return guid;
}

}  // namespace

Result<VfBefore> parse_vf_before(const Json::Object& object) {
  ObjectReader reader(object, "vf");
  VfBefore out;
  VfSettings& vf = out.settings;
  out.rebind = TRY(reader.boolean("rebind")).value_or(false);
  if (reader.value("mac") != nullptr) vf.mac = TRY(mac_of(reader, "mac"));
  if (const auto id = TRY(reader.integer("vlan", 0, 4095))) {
    vf.vlan = VfVlan{static_cast<uint16_t>(*id), static_cast<uint8_t>(TRY(number_of(reader, "vlanQoS", 7))),
                     static_cast<uint16_t>(TRY(number_of(reader, "vlanProtocol", UINT16_MAX)))};
  }
  if (const auto min = TRY(reader.integer("minTxRate", 0, UINT32_MAX))) {
    vf.rate = VfRate{static_cast<uint32_t>(*min),
                     static_cast<uint32_t>(TRY(number_of(reader, "maxTxRate", UINT32_MAX)))};
  }
  vf.spoof_check = TRY(reader.boolean("spoofCheck"));
  vf.trust = TRY(reader.boolean("trust"));
  if (const auto state = TRY(reader.integer("linkState", 0, 2)))
    vf.link_state = static_cast<VfLinkState>(*state);
  vf.node_guid = TRY(guid_of(reader, "nodeGuid"));
  vf.port_guid = TRY(guid_of(reader, "portGuid"));
  return out;
}

namespace {

void put_ip(Json& out, const char* key, const std::optional<IpAddress>& address) {
  if (address) out.set(key, address->text());
}

Result<std::optional<IpAddress>> ip_of(ObjectReader& reader, const char* key) {
  const auto text = TRY(reader.text(key));
  const auto out = text ? IpAddress::parse(*text) : std::nullopt;
  if (text && !out) return reader.error(key, "is not an address");
  return out;
}

template <class T>
Result<std::optional<T>> small_number_of(ObjectReader& reader, std::string_view key) {
  const auto number = TRY(reader.integer(key, 0, std::numeric_limits<T>::max()));
  return number ? std::optional(static_cast<T>(*number)) : std::nullopt;
}

// Texts, as since the first version; what else an address has came later, and is empty where that is usual.
void put_host_addresses(const std::vector<HostAddress>& addresses, Json& out) {
  if (addresses.empty()) return;
  std::vector<std::string> texts;
  Json all = Json::array();
  for (const HostAddress& one : addresses) {
    texts.push_back(one.address.cidr());
    const AddressSettings& settings = one.settings;
    Json more = Json::object();
    put_ip(more, "broadcast", settings.broadcast);
    put_ip(more, "peer", settings.peer);
    if (settings.priority) more.set("metric", *settings.priority);
    if (settings.scope != 0) more.set("scope", settings.scope);
    if (settings.no_prefix_route) more.set("noPrefixRoute", true);
    if (settings.no_dad) more.set("noDad", true);
    if (!settings.label.empty()) more.set("label", settings.label);
    all.push(std::move(more));
  }
  out.set("addresses", Json(texts)).set("addressSettings", std::move(all));
}

Result<AddressSettings> parse_settings(const Json& json) {
  AddressSettings out;
  if (json.as_object() == nullptr) return Error{Errc::protocol, 0, "addressSettings: must be objects"};
  ObjectReader reader(*json.as_object(), "link.addressSettings");
  out.broadcast = TRY(ip_of(reader, "broadcast"));
  out.peer = TRY(ip_of(reader, "peer"));
  out.priority = TRY(small_number_of<uint32_t>(reader, "metric"));
  out.scope = TRY(small_number_of<uint8_t>(reader, "scope")).value_or(0);
  out.no_prefix_route = TRY(reader.boolean("noPrefixRoute")).value_or(false);
  out.no_dad = TRY(reader.boolean("noDad")).value_or(false);
  out.label = TRY(reader.text("label")).value_or("");
  return out;
}

Result<std::vector<HostAddress>> host_addresses_of(ObjectReader& reader) {
  std::vector<HostAddress> out;
  for (IpAddress& address : TRY(addresses_of(reader)))
    out.push_back({address, AddressSettings::usual(address)});
  const Json::Array* settings = TRY(reader.array("addressSettings"));
  if (settings == nullptr) return out;
  if (settings->size() != out.size())
    return reader.error("addressSettings", "must be as many as in addresses");
  for (size_t i = 0; i < out.size(); ++i) out[i].settings = TRY(parse_settings((*settings)[i]));
  return out;
}

Json format_routes(const std::vector<Route>& routes) {
  Json all = Json::array();
  for (const Route& route : routes) {
    Json out;
    out.set("to", route.destination.cidr()).set("table", route.table);
    put_ip(out, "via", route.gateway);
    put_ip(out, "source", route.source);
    if (route.onlink) out.set("onlink", true);
    if (route.priority) out.set("metric", *route.priority);
    if (route.scope) out.set("scope", *route.scope);
    if (route.protocol) out.set("protocol", *route.protocol);
    if (route.tos != 0) out.set("tos", route.tos);
    if (route.preference) out.set("preference", *route.preference);
    if (route.mtu) out.set("mtu", *route.mtu);
    if (route.advmss) out.set("advmss", *route.advmss);
    Json metrics = Json::object();
    for (const auto& [type, value] : route.metrics) metrics.set(std::to_string(type), value);
    if (!route.metrics.empty()) out.set("metrics", std::move(metrics));
    all.push(std::move(out));
  }
  return all;
}

Result<Route> host_route_of(ObjectReader& reader) {
  Route out;
  const auto to = IpAddress::parse_cidr(TRY(text_of(reader, "to")));
  if (!to) return reader.error("to", "is not an address with a prefix");
  out.destination = *to;
  out.table = TRY(small_number_of<uint32_t>(reader, "table")).value_or(out.table);
  out.gateway = TRY(ip_of(reader, "via"));
  out.source = TRY(ip_of(reader, "source"));
  out.onlink = TRY(reader.boolean("onlink")).value_or(false);
  out.priority = TRY(small_number_of<uint32_t>(reader, "metric"));
  out.scope = TRY(small_number_of<uint8_t>(reader, "scope"));
  out.protocol = TRY(small_number_of<uint8_t>(reader, "protocol"));
  out.tos = TRY(small_number_of<uint8_t>(reader, "tos")).value_or(0);
  out.preference = TRY(small_number_of<uint8_t>(reader, "preference"));
  out.mtu = TRY(small_number_of<uint32_t>(reader, "mtu"));
  out.advmss = TRY(small_number_of<uint32_t>(reader, "advmss"));
  const Json::Object* metrics = TRY(reader.object("metrics"));
  if (metrics == nullptr) return out;
  ObjectReader inner(*metrics, reader.path("metrics"));
  for (const auto& [name, value] : *metrics) {
    const auto type = parse_decimal(name);
    if (!type || *type > UINT16_MAX) return inner.error(name, "is not the number of a metric");
    out.metrics[static_cast<uint16_t>(*type)] = TRY(small_number_of<uint32_t>(inner, name)).value_or(0);
  }
  return out;
}

Result<std::vector<Route>> host_routes_of(ObjectReader& reader) {
  std::vector<Route> out;
  const Json::Array* list = TRY(reader.array("routes"));
  if (list == nullptr) return out;
  for (const Json& one : *list) {
    if (one.as_object() == nullptr) return reader.error("routes", "must be objects");
    ObjectReader inner(*one.as_object(), "link.routes");
    out.push_back(TRY(host_route_of(inner)));
  }
  return out;
}

}  // namespace

Json format_link(const LinkBefore& link) {
  Json out;
  out.set("index", link.index).set("name", link.name).set("altnames", Json(link.altnames));
  out.set("mac", link.mac.text()).set("mtu", link.mtu).set("txQueueLen", link.tx_queue_len);
  out.set("alias", link.alias).set("up", link.up).set("kind", link.kind).set("parent", link.parent_device);
  out.set("promisc", link.promisc).set("allmulti", link.allmulti);
  out.set("lower", link.lower).set("permanentMac", link.permanent_mac.text());
  out.set("broadcast", link.broadcast.text());
  Json options = Json::object();
  for (const auto& row : LinkOptions::kRows) {
    if (const auto& value = link.options.*row.value) options.set(row.name, *value);
  }
  out.set("options", std::move(options));
  if (link.uppers) out.set("uppers", format_indices(*link.uppers));
  put_host_addresses(link.addresses, out);
  if (!link.routes.empty()) out.set("routes", format_routes(link.routes));
  return out;
}

Result<LinkBefore> parse_link_before(const Json::Object& object) {
  ObjectReader reader(object, "link");
  LinkBefore out;
  out.index = static_cast<int>(TRY(number_of(reader, "index", INT32_MAX)));
  out.name = TRY(ifname_of(reader, "name"));
  out.altnames = TRY(reader.texts("altnames")).value_or(std::vector<std::string>());
  out.mac = TRY(mac_of(reader, "mac"));
  out.mtu = static_cast<uint32_t>(TRY(number_of(reader, "mtu", UINT32_MAX)));
  out.tx_queue_len = static_cast<uint32_t>(TRY(number_of(reader, "txQueueLen", UINT32_MAX)));
  out.alias = TRY(text_of(reader, "alias"));
  out.up = TRY(reader.boolean("up")).value_or(false);
  out.kind = TRY(text_of(reader, "kind"));
  out.parent_device = TRY(text_of(reader, "parent"));
  out.promisc = TRY(reader.boolean("promisc")).value_or(false);
  out.allmulti = TRY(reader.boolean("allmulti")).value_or(false);
  out.lower = static_cast<int>(TRY(reader.integer("lower", 0, INT32_MAX)).value_or(0));
  if (reader.value("permanentMac") != nullptr) out.permanent_mac = TRY(mac_of(reader, "permanentMac"));
  if (reader.value("broadcast") != nullptr) out.broadcast = TRY(mac_of(reader, "broadcast"));
  if (const Json::Object* options = TRY(reader.object("options"))) {
    ObjectReader inner(*options, "link.options");
    for (const auto& row : LinkOptions::kRows) {
      if (const auto value = TRY(inner.integer(row.name, 0, UINT32_MAX)))
        out.options.*row.value = static_cast<uint32_t>(*value);
    }
  }
  out.uppers = TRY(indices_of<int>(reader, "uppers", "interface"));
  out.addresses = TRY(host_addresses_of(reader));
  out.routes = TRY(host_routes_of(reader));
  return out;
}

}  // namespace vfrail

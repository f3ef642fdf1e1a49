// The parts of a record that baselines have as well: VfBefore and LinkBefore of attachment_record.h.
#include "common/node/attachment_record.h"
#include "common/node/record_fields.h"

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
  if (!link.addresses.empty()) out.set("addresses", format_addresses(link.addresses));
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
  out.addresses = TRY(addresses_of(reader));
  return out;
}

}  // namespace vfrail

#include "common/node/attachment_record.h"

#include "common/text.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <limits>

namespace vfrail {

namespace {

constexpr int64_t kSchema = 1;
constexpr char kSeparator = ':';  // in neither a container id nor an interface name

Result<std::string> text_of(ObjectReader& reader, std::string_view key) {
  auto text = TRY(reader.text(key));
  if (!text) return reader.error(key, "missing");
  return std::move(*text);
}

Result<MacAddress> mac_of(ObjectReader& reader, std::string_view key) {
  const std::string text = TRY(text_of(reader, key));
  if (text.empty()) return MacAddress{};
  const auto mac = MacAddress::parse(text);
  if (!mac) return reader.error(key, "is not a link-layer address");
  return *mac;
}

Result<IfName> ifname_of(ObjectReader& reader, std::string_view key) {
  auto name = IfName::parse(TRY(text_of(reader, key)));
  if (!name) return reader.error(key, "is not an interface name");
  return std::move(*name);
}

Result<int64_t> number_of(ObjectReader& reader, std::string_view key, int64_t max) {
  const auto number = TRY(reader.integer(key, 0, max));
  if (!number) return reader.error(key, "missing");
  return *number;
}

}  // namespace

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

// The attachment and the key become names of files that are written, locked and removed.
Result<> check_names(ObjectReader& reader, const Record& record) {
  if (!valid_container_id(record.attachment.container_id))
    return reader.error("containerId", "is not a container id");
  const std::string_view key = record.device_key;
  constexpr std::string_view kNetdev = "netdev.";
  const bool is_netdev = key.starts_with(kNetdev) && IfName::parse(key.substr(kNetdev.size()));
  if (!is_netdev && !DeviceId::parse(key)) return reader.error("deviceKey", "is not the key of a device");
  return {};
}

template <class T>
Result<std::optional<std::vector<T>>> indices_of(ObjectReader& reader, const std::string& key,
                                                 const char* of) {
  const Json* list = reader.value(key);
  if (list == nullptr) return std::optional<std::vector<T>>();
  if (list->as_array() == nullptr) return reader.error(key, "must be a list");
  std::vector<T> out;
  for (const Json& one : *list->as_array()) {
    const auto* index = one.as_int();
    if (index == nullptr || *index < 0 || *index > std::numeric_limits<T>::max())
      return reader.error(key, std::string("is not the index of an ") + of);
    out.push_back(static_cast<T>(*index));
  }
  return std::optional(std::move(out));
}

template <class T>
Json format_indices(const std::vector<T>& indices) {
  Json out = Json::array();
  for (const T index : indices) out.push(Json(index));
  return out;
}

Json format_in_pod(const InPod& in_pod) {
  Json addresses = Json::array();
  for (const IpAddress& one : in_pod.addresses) addresses.push(one.cidr());
  Json out;
  out.set("mac", in_pod.mac.text()).set("mtu", in_pod.mtu).set("addresses", std::move(addresses));
  out.set("rdma", in_pod.rdma).set("uverbs", in_pod.uverbs).set("linkLayer", in_pod.link_layer);
  out.set("rdmaPort", in_pod.rdma_port);
  if (in_pod.gid_index) out.set("gidIndex", *in_pod.gid_index);
  if (in_pod.pf) out.set("pf", in_pod.pf->text());
  if (in_pod.numa_node) out.set("numaNode", *in_pod.numa_node);
  return out.set("defaultInterface", in_pod.default_interface);
}

Result<InPod> parse_in_pod(const Json::Object& object) {
  ObjectReader reader(object, "inPod");
  InPod out;
  out.mac = TRY(mac_of(reader, "mac"));
  out.mtu = static_cast<uint32_t>(TRY(number_of(reader, "mtu", UINT32_MAX)));
  for (const std::string& text : TRY(reader.texts("addresses")).value_or(std::vector<std::string>())) {
    const auto address = IpAddress::parse_cidr(text);
    if (!address) return reader.error("addresses", "is not an address with a prefix");
    out.addresses.push_back(*address);
  }
  out.rdma = TRY(text_of(reader, "rdma"));
  out.uverbs = TRY(text_of(reader, "uverbs"));
  out.link_layer = TRY(text_of(reader, "linkLayer"));
  out.rdma_port = static_cast<uint32_t>(TRY(number_of(reader, "rdmaPort", UINT32_MAX)));
  if (const auto index = TRY(reader.integer("gidIndex", 0, UINT32_MAX)))
    out.gid_index = static_cast<uint32_t>(*index);
  if (const auto pf = TRY(reader.text("pf"))) {
    out.pf = PciAddress::parse(*pf);
    if (!out.pf) return reader.error("pf", "is not a PCI address");
  }
  if (const auto node = TRY(reader.integer("numaNode", 0, INT32_MAX)))
    out.numa_node = static_cast<int>(*node);
  out.default_interface = TRY(text_of(reader, "defaultInterface"));
  return out;
}

// Kept as text: JSON numbers are exact to 2^53 only, device and inode have 64 bits.
std::string format_netns_id(const NetnsId& id) {
  return std::to_string(id.device) + ":" + std::to_string(id.inode);
}

Result<NetnsId> parse_netns_id(ObjectReader& reader, std::string_view key) {
  const std::string text = TRY(text_of(reader, key));
  NetnsId out;
  char* end = nullptr;
  out.device = std::strtoull(text.c_str(), &end, 10);
  if (*end != ':') return reader.error(key, "must be DEVICE:INODE");
  out.inode = std::strtoull(end + 1, nullptr, 10);
  return out;
}

}  // namespace

bool valid_container_id(std::string_view id) {
  if (id.empty() || id.size() > kMaxContainerId || std::isalnum(static_cast<unsigned char>(id[0])) == 0)
    return false;
  return std::all_of(id.begin(), id.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '.' || c == '-';
  });
}

std::string AttachmentName::text() const { return container_id + kSeparator + ifname; }

std::optional<AttachmentName> AttachmentName::parse(std::string_view text) {
  const size_t separator = text.find(kSeparator);
  if (separator == std::string_view::npos) return std::nullopt;
  const std::string_view id = text.substr(0, separator);
  auto ifname = IfName::parse(text.substr(separator + 1));
  if (!valid_container_id(id) || !ifname) return std::nullopt;
  return AttachmentName{std::string(id), std::move(*ifname)};
}

// CNI_ARGS: "IgnoreUnknown=1;K8S_POD_NAMESPACE=a;K8S_POD_NAME=b".
RecordedPod pod_of(const Record& record) {
  RecordedPod out;
  for (const std::string& one : split(record.cni_args, ";")) {
    const auto take = [&](std::string_view key, std::string& value) {
      if (one.starts_with(key)) value = one.substr(key.size());
    };
    take("K8S_POD_NAME=", out.name);
    take("K8S_POD_NAMESPACE=", out.name_space);
  }
  return out;
}

std::string RecordedPod::text() const { return name.empty() ? name : name_space + "/" + name; }

std::string attachment_text(const Record& record) {
  const std::string pod = pod_of(record).text();
  return record.attachment.ifname + " of " +
         (pod.empty() ? "container " + record.attachment.container_id : "pod " + pod) + ", network " +
         record.network;
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
  return out;
}

namespace {

Json format_irqs(const std::map<uint32_t, std::string>& irqs) {
  Json out = Json::object();
  for (const auto& [irq, mask] : irqs) out.set(std::to_string(irq), mask);
  return out;
}

Result<std::map<uint32_t, std::string>> parse_irqs(ObjectReader& record) {
  std::map<uint32_t, std::string> out;
  const Json::Object* object = TRY(record.object("irqs"));
  if (object == nullptr) return out;
  ObjectReader reader(*object, record.path("irqs"));
  for (const auto& [name, value] : *object) {
    const auto irq = parse_decimal(name);
    if (!irq) return reader.error(name, "is not the number of an interrupt");
    out[*irq] = TRY(reader.text(name)).value_or("");
  }
  return out;
}

// A list for each part, as since the first version: names in the pod and indices came later, and are empty
// where a record has none.
void put_rdma(const std::vector<MovedRdma>& devices, Json& out) {
  std::vector<std::string> names;
  std::vector<std::string> in_pod;
  std::vector<uint32_t> indices;
  for (const MovedRdma& one : devices) {
    names.push_back(one.name);
    in_pod.push_back(one.in_pod);
    if (one.index) indices.push_back(*one.index);
  }
  if (in_pod == names) in_pod.clear();
  if (indices.size() != names.size()) indices.clear();
  out.set("rdma", Json(names)).set("rdmaInPod", Json(in_pod)).set("rdmaIndex", format_indices(indices));
}

Result<std::vector<MovedRdma>> parse_rdma(ObjectReader& reader) {
  const auto names = TRY(reader.texts("rdma")).value_or(std::vector<std::string>());
  const auto in_pod = TRY(reader.texts("rdmaInPod")).value_or(std::vector<std::string>());
  const auto indices =
      TRY(indices_of<uint32_t>(reader, "rdmaIndex", "RDMA device")).value_or(std::vector<uint32_t>());
  if (!in_pod.empty() && in_pod.size() != names.size())
    return reader.error("rdmaInPod", "must be as many as in rdma");
  if (!indices.empty() && indices.size() != names.size())
    return reader.error("rdmaIndex", "must be as many as in rdma");
  std::vector<MovedRdma> out;
  for (size_t i = 0; i < names.size(); ++i) {
    out.push_back({RdmaName(names[i]), RdmaName(in_pod.empty() ? names[i] : in_pod[i])});
    if (!indices.empty()) out.back().index = indices[i];
  }
  return out;
}

}  // namespace

std::string format_record(const Record& record) {
  Json out;
  out.set("schema", kSchema);
  out.set("containerId", record.attachment.container_id).set("ifname", record.attachment.ifname);
  if (!record.rail_of.empty()) out.set("railOf", record.rail_of);
  out.set("network", record.network).set("bootId", record.boot_id).set("netns", record.netns);
  out.set("netnsId", format_netns_id(record.netns_id));
  if (record.host_netns) out.set("hostNetnsId", format_netns_id(*record.host_netns));
  out.set("deviceKey", record.device_key).set("device", record.device ? Json(record.device->text()) : Json());
  out.set("link", record.link ? format_link(*record.link) : Json());
  out.set("vf", record.vf ? format_vf(*record.vf) : Json());
  if (record.rebinding) out.set("rebinding", true);
  if (record.address_refused) out.set("addressRefused", true);
  if (record.routing_table) out.set("routingTable", *record.routing_table);
  if (!record.irqs.empty()) out.set("irqs", format_irqs(record.irqs));
  out.set("port", record.port ? Json(*record.port) : Json());
  out.set("podMac", record.pod_mac.text());
  put_rdma(record.rdma, out);
  if (record.index_in_pod != 0) out.set("indexInPod", record.index_in_pod);
  if (record.allocated_file) out.set("allocatedFile", *record.allocated_file);
  if (record.in_pod) out.set("inPod", format_in_pod(*record.in_pod));
  out.set("config", record.config).set("cniArgs", record.cni_args).set("cniPath", record.cni_path);
  return out.pretty() + "\n";
}

Result<Record> parse_record(std::string_view text) {
  const Json json = TRY(Json::parse_object(text, kMaxRecordBytes));
  ObjectReader reader(*json.as_object(), "");
  TRY(reader.schema(kSchema));
  Record out;
  out.attachment.container_id = TRY(text_of(reader, "containerId"));
  out.attachment.ifname = TRY(ifname_of(reader, "ifname"));
  if (reader.value("railOf") != nullptr) out.rail_of = TRY(ifname_of(reader, "railOf"));
  out.network = TRY(text_of(reader, "network"));
  out.boot_id = TRY(text_of(reader, "bootId"));
  out.netns = TRY(text_of(reader, "netns"));
  out.netns_id = TRY(parse_netns_id(reader, "netnsId"));
  if (reader.value("hostNetnsId") != nullptr) out.host_netns = TRY(parse_netns_id(reader, "hostNetnsId"));
  out.device_key = TRY(text_of(reader, "deviceKey"));
  TRY(check_names(reader, out));
  if (const auto device = TRY(reader.text("device"))) out.device = TRY(DeviceId::parse(*device), "device");
  if (const Json::Object* link = TRY(reader.object("link"))) out.link = TRY(parse_link_before(*link));
  if (const Json::Object* vf = TRY(reader.object("vf"))) out.vf = TRY(parse_vf_before(*vf));
  out.rebinding = TRY(reader.boolean("rebinding")).value_or(false);
  out.address_refused = TRY(reader.boolean("addressRefused")).value_or(false);
  if (const auto table = TRY(reader.integer("routingTable", 1, UINT32_MAX)))
    out.routing_table = static_cast<uint32_t>(*table);
  out.irqs = TRY(parse_irqs(reader));
  if (const auto port = TRY(reader.integer("port", 0, UINT16_MAX))) out.port = static_cast<uint32_t>(*port);
  out.pod_mac = TRY(mac_of(reader, "podMac"));
  out.rdma = TRY(parse_rdma(reader));
  out.index_in_pod = static_cast<int>(TRY(reader.integer("indexInPod", 0, INT32_MAX)).value_or(0));
  out.allocated_file = TRY(reader.text("allocatedFile"));
  if (const Json::Object* in_pod = TRY(reader.object("inPod"))) out.in_pod = TRY(parse_in_pod(*in_pod));
  out.config = TRY(text_of(reader, "config"));
  out.cni_args = TRY(text_of(reader, "cniArgs"));
  out.cni_path = TRY(text_of(reader, "cniPath"));
  return out;
}

}  // namespace vfrail

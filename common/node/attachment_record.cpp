#include "common/node/attachment_record.h"

#include "common/node/record_fields.h"
#include "common/text.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <limits>

namespace vfrail {

namespace {

constexpr int64_t kSchema = 1;
constexpr char kSeparator = ':';  // in neither a container id nor an interface name

// The attachment and the key become names of files that are written, locked and removed.
Result<> check_names(ObjectReader& reader, const Record& record) {
  if (!valid_container_id(record.attachment.container_id))
    return reader.error("containerId", "is not a container id");
  const std::string_view key = record.device_key;
  constexpr std::string_view kNetdev = "netdev.";
  const bool is_netdev = key.starts_with(kNetdev) && IfName::parse(key.substr(kNetdev.size()));
  const bool is_child = record.device_key == child_key(record.attachment);
  if (!is_netdev && !is_child && !DeviceId::parse(key))
    return reader.error("deviceKey", "is not the key of a device");
  return {};
}

Json format_in_pod(const InPod& in_pod) {
  Json out;
  out.set("mac", in_pod.mac.text())
      .set("mtu", in_pod.mtu)
      .set("addresses", format_addresses(in_pod.addresses));
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
  out.addresses = TRY(addresses_of(reader));
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

std::string child_key(const AttachmentName& attachment) {
  return "child." + attachment.container_id + "." + attachment.ifname;
}

std::string attachment_text(const Record& record) {
  const std::string pod = pod_of(record).text();
  return record.attachment.ifname + " of " +
         (pod.empty() ? "container " + record.attachment.container_id : "pod " + pod) + ", network " +
         record.network;
}

namespace {

Json format_child(const ChildLink& child) {
  Json out;
  out.set("kind", child.kind).set("master", child.master).set("masterIndex", child.master_index);
  return out.set("device", child.device ? Json(child.device->text()) : Json());
}

Result<ChildLink> parse_child(const Json::Object& object) {
  ObjectReader reader(object, "child");
  ChildLink out;
  out.kind = TRY(text_of(reader, "kind"));
  out.master = TRY(ifname_of(reader, "master"));
  out.master_index = static_cast<int>(TRY(number_of(reader, "masterIndex", INT32_MAX)));
  if (const auto device = TRY(reader.text("device"))) out.device = TRY(DeviceId::parse(*device), "child");
  return out;
}

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
  if (record.child) out.set("child", format_child(*record.child));
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
  if (const Json::Object* child = TRY(reader.object("child"))) out.child = TRY(parse_child(*child));
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

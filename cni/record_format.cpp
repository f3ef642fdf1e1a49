#include "cni/record.h"
#include "common/json.h"

#include <cstdlib>

namespace vfrail {

namespace {

constexpr int64_t kSchema = 1;
// The configuration that the record holds may have 1 MiB, and JSON escapes can double it.
constexpr size_t kMaxBytes = 3 << 20;

Json format_link(const LinkBefore& link) {
  Json out;
  out.set("index", link.index).set("name", link.name).set("altnames", Json(link.altnames));
  out.set("mac", link.mac.text()).set("mtu", link.mtu).set("txQueueLen", link.tx_queue_len);
  out.set("alias", link.alias).set("up", link.up).set("kind", link.kind).set("parent", link.parent_device);
  return out;
}

Result<std::string> text_of(ObjectReader& reader, std::string_view key) {
  auto text = TRY(reader.text(key), "");
  if (!text) return reader.error(key, "missing");
  return std::move(*text);
}

Result<MacAddress> mac_of(ObjectReader& reader, std::string_view key) {
  const std::string text = TRY(text_of(reader, key), "");
  if (text.empty()) return MacAddress{};
  const auto mac = MacAddress::parse(text);
  if (!mac) return reader.error(key, "no link-layer address");
  return *mac;
}

Result<int64_t> number_of(ObjectReader& reader, std::string_view key, int64_t max) {
  const auto number = TRY(reader.integer(key, 0, max), "");
  if (!number) return reader.error(key, "missing");
  return *number;
}

Result<LinkBefore> parse_link_before(const Json::Object& object) {
  ObjectReader reader(object, "link");
  LinkBefore out;
  out.index = static_cast<int>(TRY(number_of(reader, "index", INT32_MAX), ""));
  out.name = TRY(text_of(reader, "name"), "");
  if (!valid_ifname(out.name)) return reader.error("name", "no interface name");
  out.altnames = TRY(reader.texts("altnames"), "").value_or(std::vector<std::string>());
  out.mac = TRY(mac_of(reader, "mac"), "");
  out.mtu = static_cast<uint32_t>(TRY(number_of(reader, "mtu", UINT32_MAX), ""));
  out.tx_queue_len = static_cast<uint32_t>(TRY(number_of(reader, "txQueueLen", UINT32_MAX), ""));
  out.alias = TRY(text_of(reader, "alias"), "");
  out.up = TRY(reader.boolean("up"), "").value_or(false);
  out.kind = TRY(text_of(reader, "kind"), "");
  out.parent_device = TRY(text_of(reader, "parent"), "");
  return out;
}

Result<NetnsId> parse_netns_id(ObjectReader& reader) {
  // Kept as text: JSON numbers are exact to 2^53 only, device and inode have 64 bits.
  const std::string text = TRY(text_of(reader, "netnsId"), "");
  NetnsId out;
  char* end = nullptr;
  out.device = std::strtoull(text.c_str(), &end, 10);
  if (*end != ':') return reader.error("netnsId", "DEVICE:INODE is wanted");
  out.inode = std::strtoull(end + 1, nullptr, 10);
  return out;
}

}  // namespace

std::string format_record(const Record& record) {
  Json out;
  out.set("schema", kSchema);
  out.set("containerId", record.attachment.container_id).set("ifname", record.attachment.ifname);
  out.set("network", record.network).set("bootId", record.boot_id).set("netns", record.netns);
  out.set("netnsId", std::to_string(record.netns_id.device) + ":" + std::to_string(record.netns_id.inode));
  out.set("deviceKey", record.device_key).set("device", record.device ? Json(record.device->text()) : Json());
  out.set("link", record.link ? format_link(*record.link) : Json());
  out.set("port", record.port ? Json(*record.port) : Json());
  out.set("podMac", record.pod_mac.text()).set("rdma", Json(record.rdma));
  out.set("rdmaInPod", Json(record.rdma_in_pod));
  out.set("config", record.config).set("cniArgs", record.cni_args).set("cniPath", record.cni_path);
  return out.pretty() + "\n";
}

Result<Record> parse_record(std::string_view text) {
  const Json json = TRY(Json::parse(text, kMaxBytes), "");
  if (json.as_object() == nullptr) return Error{Errc::protocol, 0, "an object is wanted"};
  ObjectReader reader(*json.as_object(), "");
  const auto schema = TRY(reader.integer("schema"), "");
  if (schema != kSchema)
    return reader.error("schema", "this version reads schema " + std::to_string(kSchema) + " only");
  Record out;
  out.attachment.container_id = TRY(text_of(reader, "containerId"), "");
  out.attachment.ifname = TRY(text_of(reader, "ifname"), "");
  out.network = TRY(text_of(reader, "network"), "");
  out.boot_id = TRY(text_of(reader, "bootId"), "");
  out.netns = TRY(text_of(reader, "netns"), "");
  out.netns_id = TRY(parse_netns_id(reader), "");
  out.device_key = TRY(text_of(reader, "deviceKey"), "");
  if (const auto device = TRY(reader.text("device"), ""))
    out.device = TRY(DeviceId::parse(*device), "device");
  if (const Json::Object* link = TRY(reader.object("link"), "")) out.link = TRY(parse_link_before(*link), "");
  if (const auto port = TRY(reader.integer("port", 0, UINT16_MAX), ""))
    out.port = static_cast<uint32_t>(*port);
  out.pod_mac = TRY(mac_of(reader, "podMac"), "");
  out.rdma = TRY(reader.texts("rdma"), "").value_or(std::vector<std::string>());
  out.rdma_in_pod = TRY(reader.texts("rdmaInPod"), "").value_or(std::vector<std::string>());
  if (!out.rdma_in_pod.empty() && out.rdma_in_pod.size() != out.rdma.size())
    return reader.error("rdmaInPod", "as many as in rdma are wanted");
  out.config = TRY(text_of(reader, "config"), "");
  out.cni_args = TRY(text_of(reader, "cniArgs"), "");
  out.cni_path = TRY(text_of(reader, "cniPath"), "");
  return out;
}

}  // namespace vfrail

#include "cni/in_pod/facts/pod_description.h"

#include "common/json.h"

namespace vfrail::pod {

namespace {

constexpr int64_t kPodDescriptionVersion = 1;
constexpr int64_t kMaxNumber = 1 << 20;

Result<std::string> word(ObjectReader& reader, const char* key) { return TRY(reader.text(key)).value_or(""); }

Result<std::optional<uint32_t>> number(ObjectReader& reader, const char* key) {
  const auto read = TRY(reader.integer(key, 0, kMaxNumber));
  return read ? std::optional(static_cast<uint32_t>(*read)) : std::nullopt;
}

Result<DescribedInterface> parse_interface(const Json& json, const std::string& path) {
  const Json::Object* object = json.as_object();
  if (object == nullptr) return Error{Errc::protocol, 0, path + ": must be an object"};
  ObjectReader reader(*object, path);
  DescribedInterface out;
  out.name = TRY(word(reader, "name"));
  if (out.name.empty()) return reader.error("name", "is missing");
  out.network = TRY(word(reader, "network"));
  out.device = TRY(word(reader, "device"));
  out.pf = TRY(word(reader, "pf"));
  out.rdma = TRY(word(reader, "rdma"));
  out.uverbs = TRY(word(reader, "uverbs"));
  out.link_layer = TRY(word(reader, "link_layer"));
  out.mac = TRY(word(reader, "mac"));
  out.mtu = TRY(number(reader, "mtu")).value_or(0);
  out.gid_index = TRY(number(reader, "gid_index"));
  out.numa_node = TRY(number(reader, "numa_node"));
  for (const std::string& text : TRY(reader.texts("addresses")).value_or(std::vector<std::string>())) {
    const auto address = IpAddress::parse_cidr(text);
    if (!address) return reader.error("addresses", "\"" + text + "\" is not an address with a prefix length");
    out.addresses.push_back(*address);
  }
  return out;
}

}  // namespace

Result<PodDescription> parse_pod_description(std::string_view text) {
  const Json json = TRY(Json::parse_object(text));
  ObjectReader reader(*json.as_object(), "");
  const auto version = TRY(reader.integer("version"));
  if (version != kPodDescriptionVersion)
    return reader.error("version", version ? "is " + std::to_string(*version) + ", and not " +
                                                 std::to_string(kPodDescriptionVersion)
                                           : "is missing");
  PodDescription out;
  const Json::Array* interfaces = TRY(reader.array("interfaces"));
  for (size_t i = 0; interfaces != nullptr && i < interfaces->size(); ++i) {
    const std::string path = "interfaces[" + std::to_string(i) + "]";
    out.interfaces.push_back(TRY(parse_interface((*interfaces)[i], path)));
  }
  return out;
}

}  // namespace vfrail::pod

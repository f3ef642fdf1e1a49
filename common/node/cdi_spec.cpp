#include "common/node/cdi_spec.h"

#include "common/files.h"
#include "common/json.h"

#include <algorithm>
#include <utility>

namespace vfrail {

namespace {

// The lowest that knows hostPath and names which begin with a digit; every runtime with CDI reads it.
constexpr const char* kVersion = "0.5.0";
constexpr std::string_view kInfiniband = "/dev/infiniband/";
constexpr size_t kMaxBytes = size_t{64} * 1024;

bool is_rdma_node(const DeviceNode& node) {
  if (!node.host_path.starts_with(kInfiniband)) return false;
  const std::string_view name = std::string_view(node.host_path).substr(kInfiniband.size());
  return name.starts_with("uverbs") || name.starts_with("umad") || name.starts_with("issm");
}

Json node_json(const DeviceNode& node) {
  Json out = Json::object();
  return out.set("path", node.container_path)
      .set("hostPath", node.host_path)
      .set("permissions", node.permissions);
}

Result<std::string> required(ObjectReader& reader, std::string_view key) {
  auto value = TRY(reader.text(key), "");
  if (!value || value->empty()) return reader.error(key, "it is missing");
  return std::move(*value);
}

// The only element of a list of objects.
Result<const Json::Object*> only_object(ObjectReader& reader, std::string_view key) {
  const Json::Array* list = TRY(reader.array(key), "");
  if (list == nullptr || list->size() != 1 || list->front().as_object() == nullptr) {
    return reader.error(key, "must be a list of one object");
  }
  return list->front().as_object();
}

Result<std::vector<DeviceNode>> parse_nodes(ObjectReader& edits) {
  const Json::Array* list = TRY(edits.array("deviceNodes"), "");
  if (list == nullptr || list->empty()) return edits.error("deviceNodes", "it has none");
  std::vector<DeviceNode> out;
  for (const Json& one : *list) {
    if (one.as_object() == nullptr) return edits.error("deviceNodes", "must be a list of objects");
    ObjectReader node(*one.as_object(), edits.path("deviceNodes"));
    DeviceNode parsed;
    parsed.container_path = TRY(required(node, "path"), "");
    parsed.host_path = TRY(required(node, "hostPath"), "");
    parsed.permissions = TRY(required(node, "permissions"), "");
    out.push_back(std::move(parsed));
  }
  return out;
}

}  // namespace

std::string CdiSpec::file_name() const {
  std::string out = std::string(kCdiFilePrefix) + kind + "-" + device + ".json";
  std::replace(out.begin(), out.end(), '/', '-');
  return out;
}

std::string format_cdi_spec(const CdiSpec& spec) {
  Json nodes = Json::array();
  for (const DeviceNode& node : spec.nodes) nodes.push(node_json(node));
  Json edits = Json::object();
  edits.set("deviceNodes", std::move(nodes));
  Json device = Json::object();
  device.set("name", spec.device).set("containerEdits", std::move(edits));
  Json out = Json::object();
  out.set("cdiVersion", kVersion)
      .set("kind", spec.kind)
      .set("devices", Json::array().push(std::move(device)));
  return out.pretty() + "\n";
}

Result<CdiSpec> parse_cdi_spec(std::string_view text) {
  const Json json = TRY(Json::parse_object(text, kMaxBytes), "");
  ObjectReader top(*json.as_object(), "");
  CdiSpec out;
  out.kind = TRY(required(top, "kind"), "");
  ObjectReader device(*TRY(only_object(top, "devices"), ""), "devices[0]");
  out.device = TRY(required(device, "name"), "");
  const Json::Object* edits = TRY(device.object("containerEdits"), "");
  if (edits == nullptr) return device.error("containerEdits", "it is missing");
  ObjectReader reader(*edits, device.path("containerEdits"));
  out.nodes = TRY(parse_nodes(reader), "");
  return out;
}

bool has_rdma_nodes(const CdiSpec& spec) {
  return std::any_of(spec.nodes.begin(), spec.nodes.end(), is_rdma_node);
}

bool replace_rdma_nodes(CdiSpec& spec, const std::vector<std::string>& names) {
  const auto first = std::find_if(spec.nodes.begin(), spec.nodes.end(), is_rdma_node);
  const std::string permissions = first == spec.nodes.end() ? "rw" : first->permissions;
  std::vector<DeviceNode> had;
  std::vector<DeviceNode> others;
  for (const DeviceNode& node : spec.nodes) (is_rdma_node(node) ? had : others).push_back(node);
  std::vector<DeviceNode> has;
  for (const std::string& name : names) {
    const std::string path = std::string(kInfiniband) + name;
    has.push_back({path, path, permissions});
  }
  if (std::is_permutation(had.begin(), had.end(), has.begin(), has.end())) return false;
  has.insert(has.end(), others.begin(), others.end());
  spec.nodes = std::move(has);
  return true;
}

Result<> write_cdi_spec(const std::string& path, const std::string& temporary, const CdiSpec& spec) {
  // For everybody to read, as others' files there: runtimes of users look into it, too.
  return write_file(Replacement{path, temporary}, format_cdi_spec(spec), 0644, Durability::renamed);
}

Result<std::optional<HeldFile>> find_cdi_spec(const std::string& path,
                                              const std::vector<std::string>& folders) {
  auto file = find_below(folders, path);
  const std::string name = path.substr(path.rfind('/') + 1);
  if (file && name.starts_with(kCdiFilePrefix) && name.ends_with(".json")) return file;
  return Error{
      Errc::denied, 0,
      path + " is not a CDI spec of vfrail, which are named " + std::string(kCdiFilePrefix) +
          "*.json; vfrail-cni takes another folder from VFRAIL_CDI_DIR in the runtime's environment" +
          (file ? "" : ": " + file.error().text)};
}

Result<std::optional<CdiSpec>> read_cdi_spec(const std::string& path) {
  const auto text = TRY(read_file(path, kMaxBytes), "");
  if (!text) return std::optional<CdiSpec>();
  return std::optional(TRY(parse_cdi_spec(*text), path));
}

}  // namespace vfrail

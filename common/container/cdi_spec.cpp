#include "common/container/cdi_spec.h"

#include "common/errors/error_id.h"
#include "common/files.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <climits>
#include <utility>

namespace vfrail {

namespace {

// The lowest version that has hostPath and names which begin with a digit; every runtime with CDI reads it.
constexpr const char* kVersion = "0.5.0";
constexpr std::string_view kInfiniband = "/dev/infiniband/";

bool is_rdma_node(const DeviceNode& node) {
  if (!node.host_path.starts_with(kInfiniband)) return false;
  const std::string_view name = std::string_view(node.host_path).substr(kInfiniband.size());
  return name.starts_with("uverbs") || name.starts_with("umad") || name.starts_with("issm");
}

Error wrong(std::string_view key, std::string_view what) {
  return Error{Errc::invalid, 0, std::string(key) + ": " + std::string(what)};
}

// Null also for a key with a null, as in Go.
const Json* find(const Json& object, std::string_view key) {
  const Json* out = object.find(key);
  return out == nullptr || out->is_null() ? nullptr : out;
}

// The value of a key, for writing; created if missing.
Json& member(Json& object, std::string_view key) {
  if (object.find(key) == nullptr) object.set(key, Json());
  return std::find_if(object.as_object()->begin(), object.as_object()->end(),
                      [&](const auto& one) { return one.first == key; })
      ->second;
}

Result<std::string> required(const Json& object, std::string_view key) {
  const Json* value = find(object, key);
  if (value == nullptr) return wrong(key, "it is missing");
  if (value->as_text() == nullptr)
    return wrong(key, std::string("must be a string, got ") + value->type_name());
  if (value->as_text()->empty()) return wrong(key, "it is empty");
  return *value->as_text();
}

Result<std::vector<std::string>> texts(const Json& object, std::string_view key) {
  std::vector<std::string> out;
  const Json* list = find(object, key);
  if (list == nullptr) return out;
  if (list->as_array() == nullptr) return wrong(key, std::string("must be a list, got ") + list->type_name());
  for (const Json& one : *list->as_array()) {
    if (one.as_text() == nullptr) return wrong(key, "must be a list of strings");
    out.push_back(*one.as_text());
  }
  return out;
}

bool contains(const std::vector<std::string>& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

// "/dev/infiniband/uverbs" of "/dev/infiniband/uverbs4".
std::string_view without_number(std::string_view path) {
  while (!path.empty() && std::isdigit(static_cast<unsigned char>(path.back())) != 0) path.remove_suffix(1);
  return path;
}

// The lists of a spec's edits, one type each: the key, the member of ContainerEdits, one element read and
// written. `before` is the list that is being replaced.
struct EnvPart {
  static constexpr const char* kKey = "env";
  static constexpr auto kMember = &ContainerEdits::env;
  using Value = std::pair<const std::string, std::string>;

  static Result<Value> parse(const Json& json) {
    const size_t equals = json.as_text() == nullptr ? std::string::npos : json.as_text()->find('=');
    if (equals == std::string::npos) return wrong("element", "must be NAME=value, got " + json.text());
    return Value(json.as_text()->substr(0, equals), json.as_text()->substr(equals + 1));
  }
  static Json format(const Value& value, const Json::Array&) { return value.first + "=" + value.second; }
};

struct NodePart {
  static constexpr const char* kKey = "deviceNodes";
  static constexpr auto kMember = &ContainerEdits::nodes;
  using Value = DeviceNode;

  static Result<DeviceNode> parse(const Json& json) {
    DeviceNode out;
    out.container_path = TRY(required(json, "path"));
    out.host_path = TRY(required(json, "hostPath"));
    out.permissions = TRY(required(json, "permissions"));
    return out;
  }
  // A node that only has another number keeps its other fields in the spec (uid, gid, fileMode), except the
  // device's number: where the spec has none the runtime asks the host.
  static Json format(const DeviceNode& node, const Json::Array& before) {
    Json out = Json::object();
    for (const Json& one : before) {
      const auto had = parse(one);
      if (!had || without_number(had->host_path) != without_number(node.host_path)) continue;
      out = one;
      std::erase_if(*out.as_object(),
                    [](const auto& field) { return field.first == "major" || field.first == "minor"; });
      break;
    }
    return out.set("path", node.container_path)
        .set("hostPath", node.host_path)
        .set("permissions", node.permissions);
  }
};

struct MountPart {
  static constexpr const char* kKey = "mounts";
  static constexpr auto kMember = &ContainerEdits::mounts;
  using Value = Mount;

  static Result<Mount> parse(const Json& json) {
    Mount out;
    out.host_path = TRY(required(json, "hostPath"));
    out.container_path = TRY(required(json, "containerPath"));
    out.read_only = contains(TRY(texts(json, "options")), "ro");
    return out;
  }
  static Json format(const Mount& mount, const Json::Array&) {
    return Json::object()
        .set("hostPath", mount.host_path)
        .set("containerPath", mount.container_path)
        .set("options",
             Json(std::vector<std::string>{"bind", "nosuid", "nodev", mount.read_only ? "ro" : "rw"}));
  }
};

struct HookPart {
  static constexpr const char* kKey = "hooks";
  static constexpr auto kMember = &ContainerEdits::hooks;
  using Value = Hook;

  static Result<Hook> parse(const Json& json) {
    Hook out;
    out.name = TRY(required(json, "hookName"));
    out.path = TRY(required(json, "path"));
    out.args = TRY(texts(json, "args"));
    out.env = TRY(texts(json, "env"));
    if (const Json* timeout = find(json, "timeout")) {
      if (timeout->as_int() == nullptr)
        return wrong("timeout", "must be a number of seconds, got " + timeout->text());
      out.timeout = std::chrono::seconds{*timeout->as_int()};
    }
    return out;
  }
  static Json format(const Hook& hook, const Json::Array&) {
    Json out = Json::object();
    out.set("hookName", hook.name).set("path", hook.path);
    if (!hook.args.empty()) out.set("args", Json(hook.args));
    if (!hook.env.empty()) out.set("env", Json(hook.env));
    if (hook.timeout) out.set("timeout", int64_t{hook.timeout->count()});
    return out;
  }
};

void add(std::map<std::string, std::string>& all, EnvPart::Value value) {
  all.insert_or_assign(value.first, std::move(value.second));
}
template <class Value>
void add(std::vector<Value>& all, Value value) {
  all.push_back(std::move(value));
}

template <class Part>
Result<> parse_part(const Json& edits, ContainerEdits& out) {
  const Json* list = find(edits, Part::kKey);
  if (list == nullptr) return {};
  if (list->as_array() == nullptr) return wrong(Part::kKey, "must be a list");
  for (const Json& one : *list->as_array()) add(out.*Part::kMember, TRY(Part::parse(one), Part::kKey));
  return {};
}

// What the document has already stays unchanged, element by element.
template <class Part>
void format_part(const ContainerEdits& edits, Json& out) {
  ContainerEdits same;
  if (parse_part<Part>(out, same) && same.*Part::kMember == edits.*Part::kMember) return;
  const Json* list = find(out, Part::kKey);
  const Json::Array before =
      list == nullptr || list->as_array() == nullptr ? Json::Array() : *list->as_array();
  Json after = Json::array();
  for (const typename Part::Value& value : edits.*Part::kMember) {
    const auto known = std::find_if(before.begin(), before.end(), [&](const Json& one) {
      const auto parsed = Part::parse(one);
      return parsed && *parsed == value;
    });
    after.push(known == before.end() ? Part::format(value, before) : *known);
  }
  out.set(Part::kKey, std::move(after));
}

Result<ContainerEdits> parse_edits(const Json& json) {
  ContainerEdits out;
  TRY(parse_part<EnvPart>(json, out));
  TRY(parse_part<NodePart>(json, out));
  TRY(parse_part<MountPart>(json, out));
  TRY(parse_part<HookPart>(json, out));
  return out;
}

}  // namespace

std::string CdiSpec::file_name() const {
  std::string out = std::string(kCdiFilePrefix) + kind + "-" + device + ".json";
  std::replace(out.begin(), out.end(), '/', '-');
  return out;
}

std::string format_cdi_spec(const CdiSpec& spec) {
  Json out = spec.document;
  if (out.is_null()) out.set("cdiVersion", kVersion);
  out.set("kind", spec.kind);
  Json& devices = member(out, "devices");
  if (devices.is_null()) devices.push(Json::object());
  Json& device = devices.as_array()->front();
  device.set("name", spec.device);
  Json& edits = member(device, "containerEdits");
  if (edits.is_null()) edits = Json::object();
  format_part<EnvPart>(spec.edits, edits);
  format_part<NodePart>(spec.edits, edits);
  format_part<MountPart>(spec.edits, edits);
  format_part<HookPart>(spec.edits, edits);
  std::string text = out.pretty() + "\n";
  if (text.size() > kMaxCdiSpecBytes) text = out.text() + "\n";
  return text;
}

Result<CdiSpec> parse_cdi_spec(std::string_view text) {
  CdiSpec out;
  out.document = TRY(Json::parse_object(text, kMaxCdiSpecBytes));
  out.kind = TRY(required(out.document, "kind"));
  const Json* devices = find(out.document, "devices");
  if (devices == nullptr || devices->as_array() == nullptr || devices->as_array()->size() != 1 ||
      devices->as_array()->front().as_object() == nullptr)
    return wrong("devices", "must be a list of one object");
  const Json& device = devices->as_array()->front();
  out.device = TRY(required(device, "name"), "devices[0]");
  if (const std::string name = out.file_name();
      name.size() > NAME_MAX || name.find('\0') != std::string::npos)
    return wrong("devices[0].name", "must, with the kind, be the name of a file");
  const Json* edits = find(device, "containerEdits");
  if (edits == nullptr || edits->as_object() == nullptr)
    return wrong("devices[0].containerEdits", "must be an object");
  out.edits = TRY(parse_edits(*edits), "devices[0].containerEdits");
  return out;
}

bool has_rdma_nodes(const CdiSpec& spec) {
  return std::any_of(spec.edits.nodes.begin(), spec.edits.nodes.end(), is_rdma_node);
}

bool replace_rdma_nodes(CdiSpec& spec, const std::vector<std::string>& names) {
  const auto first = std::find_if(spec.edits.nodes.begin(), spec.edits.nodes.end(), is_rdma_node);
  const std::string permissions = first == spec.edits.nodes.end() ? "rw" : first->permissions;
  std::vector<DeviceNode> had;
  std::vector<DeviceNode> others;
  for (const DeviceNode& node : spec.edits.nodes) (is_rdma_node(node) ? had : others).push_back(node);
  std::vector<DeviceNode> has;
  for (const std::string& name : names) {
    const std::string path = std::string(kInfiniband) + name;
    has.push_back({path, path, permissions});
  }
  if (std::is_permutation(had.begin(), had.end(), has.begin(), has.end())) return false;
  has.insert(has.end(), others.begin(), others.end());
  spec.edits.nodes = std::move(has);
  return true;
}

Result<> write_cdi_spec(const std::string& path, const std::string& temporary, const CdiSpec& spec) {
  // Readable for all, like others' files there: runtimes of users read it, too.
  const std::string text = format_cdi_spec(spec);
  if (text.size() > kMaxCdiSpecBytes)
    return Error{Errc::invalid, 0,
                 shown_path(path) + ": the spec would have " + std::to_string(text.size()) +
                     " bytes, and no more than " + std::to_string(kMaxCdiSpecBytes) +
                     " are read: take out of the resource what containers do not need (extraDeviceNodes)",
                 ErrorId::cdi_spec};
  return write_file(Replacement{path, temporary, true}, text, 0644, Durability::renamed);
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
          (file ? "" : ": " + file.error().text),
      ErrorId::cdi_spec};
}

Result<std::optional<CdiSpec>> read_cdi_spec(const std::string& path) {
  const auto text = TRY(read_file(path, kMaxCdiSpecBytes, AccessTime::kept));
  if (!text) return std::optional<CdiSpec>();
  return std::optional(TRY(parse_cdi_spec(*text), shown_path(path)));
}

}  // namespace vfrail

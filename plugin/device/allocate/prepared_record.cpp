#include "plugin/device/allocate/prepared_record.h"

#include "common/container/held_folder.h"
#include "common/files.h"
#include "common/json.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <functional>
#include <utility>

namespace vfrail::plugin {

namespace {

namespace fs = std::filesystem;

constexpr const char* kFolder = "prepared";
constexpr std::string_view kRecordEnding = ".json";
constexpr size_t kMaxBytes = size_t{1} << 20;
constexpr size_t kMaxOwner = 128;
constexpr int64_t kSchema = 1;

std::string file_name(const std::string& owner) { return owner + std::string(kRecordEnding); }

template <class Item, class Format>
Json to_list(const std::vector<Item>& items, Format format) {
  Json out = Json::array();
  for (const Item& item : items) out.push(format(item));
  return out;
}

// Each entry of a list has to be an object; `parse` gets its reader.
template <class Item>
Result<std::vector<Item>> parse_list(ObjectReader& reader, std::string_view key,
                                     const std::function<Result<Item>(ObjectReader&)>& parse) {
  std::vector<Item> out;
  const Json::Array* list = TRY(reader.array(key));
  if (list == nullptr) return out;
  for (const Json& entry : *list) {
    if (entry.as_object() == nullptr) return reader.error(key, "must be a list of objects");
    ObjectReader inner(*entry.as_object(), reader.path(key));
    out.push_back(TRY(parse(inner)));
  }
  return out;
}

Result<std::string> read_text(ObjectReader& reader, std::string_view key) {
  auto text = TRY(reader.text(key));
  if (!text) return reader.error(key, "missing");
  return *std::move(text);
}

Result<std::vector<std::string>> read_texts(ObjectReader& reader, std::string_view key) {
  return TRY(reader.texts(key)).value_or(std::vector<std::string>());
}

Result<std::vector<DeviceId>> read_devices(ObjectReader& reader, std::string_view key) {
  std::vector<DeviceId> out;
  for (const std::string& text : TRY(read_texts(reader, key)))
    out.push_back(TRY(DeviceId::parse(text), reader.path(key)));
  return out;
}

Json format_devices(const std::vector<DeviceId>& devices) {
  return to_list(devices, [](const DeviceId& device) { return Json(device.text()); });
}

Json format_edits(const ContainerEdits& edits) {
  Json env = Json::object();
  for (const auto& [name, value] : edits.env) env.set(name, value);
  return Json::object()
      .set("env", std::move(env))
      .set("nodes", to_list(edits.nodes,
                            [](const DeviceNode& node) {
                              return Json::object()
                                  .set("hostPath", node.host_path)
                                  .set("containerPath", node.container_path)
                                  .set("permissions", node.permissions);
                            }))
      .set("mounts", to_list(edits.mounts,
                             [](const Mount& mount) {
                               return Json::object()
                                   .set("hostPath", mount.host_path)
                                   .set("containerPath", mount.container_path)
                                   .set("readOnly", mount.read_only);
                             }))
      .set("cdiDevices", Json(edits.cdi_devices));
}

Result<ContainerEdits> parse_edits(ObjectReader& reader) {
  ContainerEdits out;
  if (const Json::Object* env = TRY(reader.object("env"))) {
    ObjectReader variables(*env, reader.path("env"));
    for (const auto& [name, value] : *env) out.env.emplace(name, TRY(read_text(variables, name)));
  }
  out.nodes = TRY(parse_list<DeviceNode>(reader, "nodes", [](ObjectReader& node) -> Result<DeviceNode> {
    DeviceNode one;
    one.host_path = TRY(read_text(node, "hostPath"));
    one.container_path = TRY(read_text(node, "containerPath"));
    one.permissions = TRY(read_text(node, "permissions"));
    return one;
  }));
  out.mounts = TRY(parse_list<Mount>(reader, "mounts", [](ObjectReader& mount) -> Result<Mount> {
    Mount one;
    one.host_path = TRY(read_text(mount, "hostPath"));
    one.container_path = TRY(read_text(mount, "containerPath"));
    one.read_only = TRY(mount.boolean("readOnly")).value_or(true);
    return one;
  }));
  out.cdi_devices = TRY(read_texts(reader, "cdiDevices"));
  return out;
}

Json format_unit(const AllocatedUnit& unit) {
  return Json::object()
      .set("unit", unit.unit)
      .set("resource", unit.resource)
      .set("devices", format_devices(unit.devices));
}

Result<AllocatedUnit> parse_unit(ObjectReader& reader) {
  AllocatedUnit out;
  out.unit = TRY(read_text(reader, "unit"));
  out.resource = TRY(read_text(reader, "resource"));
  out.devices = TRY(read_devices(reader, "devices"));
  return out;
}

Json format_container(const std::vector<AskedUnits>& container) {
  return Json::object().set(
      "asked", to_list(container, [](const AskedUnits& one) {
        return Json::object().set("resource", one.resource).set("units", Json(one.units));
      }));
}

Result<std::vector<AskedUnits>> parse_container(ObjectReader& reader) {
  return parse_list<AskedUnits>(reader, "asked", [](ObjectReader& one) -> Result<AskedUnits> {
    AskedUnits out;
    out.resource = TRY(read_text(one, "resource"));
    out.units = TRY(read_texts(one, "units"));
    return out;
  });
}

Json format(const PreparedRecord& record) {
  Json out = Json::object();
  out.set("schema", kSchema)
      .set("containers", to_list(record.asked, format_container))
      .set("files", Json(record.files.paths))
      .set("allocatedNodes", format_devices(record.files.allocated_nodes))
      .set("units", to_list(record.files.units, format_unit));
  if (record.edits) out.set("edits", to_list(*record.edits, format_edits));
  return out;
}

Result<PreparedRecord> parse(const std::string& owner, const std::string& text, const std::string& path) {
  const Json json = TRY(Json::parse_object(text, kMaxBytes), path);
  ObjectReader reader(*json.as_object(), path);
  TRY(reader.schema(kSchema));
  PreparedRecord out;
  out.owner = owner;
  out.asked = TRY(parse_list<std::vector<AskedUnits>>(reader, "containers", parse_container));
  out.files.paths = TRY(read_texts(reader, "files"));
  out.files.allocated_nodes = TRY(read_devices(reader, "allocatedNodes"));
  out.files.units = TRY(parse_list<AllocatedUnit>(reader, "units", parse_unit));
  if (reader.value("edits") != nullptr)
    out.edits = TRY(parse_list<ContainerEdits>(reader, "edits", parse_edits));
  return out;
}

// Less trusted processes write below the run folder, so no symbolic link there is followed.
Result<std::optional<HeldFolder>> find_folder(const std::string& run_dir) {
  const auto run = TRY(HeldFolder::open(run_dir));
  auto folder = run ? TRY(run->enter(kFolder)) : std::nullopt;
  if (folder) TRY(folder->check_owner());
  return folder;
}

}  // namespace

Result<> check_owner_name(const std::string& owner) {
  const bool good = !owner.empty() && owner.size() <= kMaxOwner && owner.front() != '.' &&
                    std::all_of(owner.begin(), owner.end(), [](unsigned char c) {
                      return std::isalnum(c) != 0 || c == '-' || c == '.' || c == '_';
                    });
  if (good) return {};
  return Error{Errc::invalid, 0,
               "the owner of what is prepared must be a uid or a name, got \"" + owner + "\""};
}

Result<> write_prepared(const std::string& run_dir, const PreparedRecord& record) {
  TRY(check_owner_name(record.owner));
  const std::string folder = run_dir + "/" + kFolder;
  TRY(make_folder(folder, 0700));
  return write_file(folder + "/" + file_name(record.owner), format(record).text() + "\n", 0600,
                    Durability::renamed);
}

Result<std::optional<PreparedRecord>> read_prepared(const std::string& run_dir, const std::string& owner) {
  TRY(check_owner_name(owner));
  const auto folder = TRY(find_folder(run_dir));
  if (!folder) return std::optional<PreparedRecord>();
  const std::string path = folder->path() + "/" + file_name(owner);
  const auto text = TRY(read_file(folder->at(file_name(owner)), kMaxBytes), path);
  if (!text) return std::optional<PreparedRecord>();
  return std::optional(TRY(parse(owner, *text, path)));
}

Result<> remove_prepared(const std::string& run_dir, const std::string& owner) {
  TRY(check_owner_name(owner));
  const auto folder = TRY(find_folder(run_dir));
  return folder ? remove_file(folder->at(file_name(owner))) : Result<>();
}

Result<std::vector<std::string>> list_prepared(const std::string& run_dir) {
  std::vector<std::string> out;
  const auto folder = TRY(find_folder(run_dir));
  if (!folder) return out;
  std::error_code failed;
  for (fs::directory_iterator at(folder->at(""), failed), end; !failed && at != end; at.increment(failed)) {
    std::string name = at->path().filename().string();
    if (!name.ends_with(kRecordEnding)) continue;
    name.resize(name.size() - kRecordEnding.size());
    if (check_owner_name(name)) out.push_back(std::move(name));
  }
  if (failed) return Error::from_errno(failed.value(), "list " + folder->path());
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace vfrail::plugin

#include "cni/record/displaced_names.h"

#include "common/errors/error_id.h"
#include "common/files.h"
#include "common/json.h"

#include <algorithm>
#include <filesystem>

namespace vfrail::cni {

namespace fs = std::filesystem;

namespace {

constexpr int64_t kSchema = 1;
constexpr size_t kMaxBytes = size_t{64} * 1024;
constexpr std::string_view kEnding = ".names";  // no baseline, whose files end with .json

std::string folder_of(const RecordStore& store) { return store.folder() + "/baselines"; }

std::string path_of(const RecordStore& store, const std::string& device_key) {
  return folder_of(store) + "/" + device_key + std::string(kEnding);
}

Json format_list(const std::vector<DisplacedName>& names) {
  Json out = Json::array();
  for (const DisplacedName& name : names)
    out.push(Json::object().set("own", name.own).set("now", name.now).set("index", name.index));
  return out;
}

Result<std::vector<DisplacedName>> parse_list(ObjectReader& reader, const char* key) {
  std::vector<DisplacedName> out;
  const Json::Array* list = TRY(reader.array(key));
  for (const Json& one : list == nullptr ? Json::Array() : *list) {
    if (one.as_object() == nullptr) return reader.error(key, "must be a list of objects");
    ObjectReader fields(*one.as_object(), key);
    DisplacedName name;
    name.own = TRY(fields.text("own")).value_or("");
    name.now = TRY(fields.text("now")).value_or("");
    name.index = TRY(fields.integer("index", 0, UINT32_MAX)).value_or(0);
    if (name.own.empty() || name.now.empty()) return reader.error(key, "a name is missing");
    out.push_back(std::move(name));
  }
  return out;
}

}  // namespace

void add_displaced(DisplacedName name, std::vector<DisplacedName>& names) {
  const auto at = std::find_if(names.begin(), names.end(), [&](const DisplacedName& one) {
    return one.now == name.own || one.own == name.own;
  });
  if (at == names.end()) {
    names.push_back(std::move(name));
  } else {
    at->now = std::move(name.now);
    at->index = name.index;
  }
}

std::string format_displaced(const DisplacedNames& names) {
  Json out;
  out.set("schema", kSchema).set("bootId", names.boot_id);
  out.set("links", format_list(names.links)).set("rdma", format_list(names.rdma));
  return out.pretty() + "\n";
}

Result<DisplacedNames> parse_displaced(std::string_view text) {
  const Json json = TRY(Json::parse_object(text, kMaxBytes));
  ObjectReader reader(*json.as_object(), "");
  const auto schema = TRY(reader.integer("schema"));
  if (schema != kSchema)
    return reader.error("schema", "this version reads schema " + std::to_string(kSchema) + " only");
  DisplacedNames out;
  out.boot_id = TRY(reader.text("bootId")).value_or("");
  out.links = TRY(parse_list(reader, "links"));
  out.rdma = TRY(parse_list(reader, "rdma"));
  return out;
}

Result<std::optional<DisplacedNames>> load_displaced(const RecordStore& store,
                                                     const std::string& device_key) {
  const std::string path = path_of(store, device_key);
  const auto text = TRY(read_file(path, kMaxBytes));
  if (!text) return std::optional<DisplacedNames>();
  auto names = parse_displaced(*text);
  if (names) return std::optional(std::move(*names));
  return Error{Errc::protocol, 0, path + " cannot be read: " + names.error().text, ErrorId::record_damaged};
}

Result<> save_displaced(const RecordStore& store, const std::string& device_key,
                        const DisplacedNames& names) {
  const std::string path = path_of(store, device_key);
  if (names.empty()) return free_name(path);
  TRY(make_folder(folder_of(store), 0700), "prepare state folder");
  return write_file({path, path + ".new"}, format_displaced(names), 0600, Durability::renamed);
}

Result<std::vector<std::string>> displaced_devices(const RecordStore& store) {
  std::vector<std::string> out;
  std::error_code error;
  for (fs::directory_iterator at(folder_of(store), error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.ends_with(kEnding)) out.push_back(name.substr(0, name.size() - kEnding.size()));
  }
  if (error && error != std::errc::no_such_file_or_directory)
    return Error::from_errno(error.value(), "list " + folder_of(store));
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace vfrail::cni

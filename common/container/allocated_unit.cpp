#include "common/container/allocated_unit.h"

#include "common/container/allocated_nodes.h"
#include "common/container/held_folder.h"
#include "common/files.h"
#include "common/json.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

namespace vfrail {

namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxUnitBytes = size_t{64} << 10;
constexpr size_t kMaxUnitDevices = 256;
constexpr size_t kMaxDigits = 5;

std::string file_name(const AllocatedUnit& unit) {
  std::string resource = unit.resource;
  std::replace(resource.begin(), resource.end(), '/', '~');
  return unit.unit + "~" + resource + ".json";
}

// Less trusted processes write below the run folder, so no symbolic link there is followed.
Result<std::optional<HeldFolder>> find_folder(const std::string& run_folder) {
  const auto run = TRY(HeldFolder::open(run_folder));
  auto folder = run ? TRY(run->enter(kAllocatedFolder)) : std::nullopt;
  if (folder) TRY(folder->check_owner());
  return folder;
}

Result<AllocatedUnit> parse_unit(const std::string& unit, const std::string& text, const std::string& path) {
  const Json json = TRY(Json::parse_object(text, kMaxUnitBytes), path);
  ObjectReader reader(*json.as_object(), path);
  AllocatedUnit out;
  out.unit = unit;
  out.resource = TRY(reader.text("resource")).value_or("");
  const auto devices = TRY(reader.texts("devices")).value_or(std::vector<std::string>());
  if (devices.empty() || devices.size() > kMaxUnitDevices)
    return reader.error("devices", "must be 1 to " + std::to_string(kMaxUnitDevices) + " devices");
  for (const std::string& device : devices)
    out.devices.push_back(TRY(DeviceId::parse(device), reader.path("devices")));
  return out;
}

}  // namespace

bool is_unit(std::string_view text) {
  if (!text.starts_with(kBundlePrefix)) return false;
  const std::string_view number = text.substr(kBundlePrefix.size());
  return !number.empty() && number.size() <= kMaxDigits &&
         std::all_of(number.begin(), number.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

Result<> write_allocated_unit(const std::string& run_folder, const AllocatedUnit& unit) {
  const std::string folder = run_folder + "/" + kAllocatedFolder;
  TRY(make_folder(folder, 0700));
  Json devices = Json::array();
  for (const DeviceId& device : unit.devices) devices.push(device.text());
  Json out;
  out.set("resource", unit.resource).set("devices", std::move(devices));
  return write_file(folder + "/" + file_name(unit), out.text() + "\n", 0600, Durability::renamed);
}

Result<> remove_allocated_unit(const std::string& run_folder, const AllocatedUnit& unit) {
  const auto folder = TRY(find_folder(run_folder));
  return folder ? remove_file(folder->at(file_name(unit))) : Result<>();
}

Result<std::vector<AllocatedUnit>> read_allocated_units(const std::string& run_folder,
                                                        const std::string& unit) {
  std::vector<AllocatedUnit> out;
  const auto folder = TRY(find_folder(run_folder));
  if (!folder) return out;
  std::error_code failed;
  for (fs::directory_iterator at(folder->at(""), failed), end; !failed && at != end; at.increment(failed)) {
    const std::string name = at->path().filename().string();
    if (!name.starts_with(unit + "~") || !name.ends_with(".json")) continue;
    const std::string path = folder->path() + "/" + name;
    const auto text = TRY(read_file(folder->at(name), kMaxUnitBytes), path);
    if (text) out.push_back(TRY(parse_unit(unit, *text, path)));
  }
  if (failed) return Error::from_errno(failed.value(), "list " + folder->path());
  std::sort(out.begin(), out.end(),
            [](const AllocatedUnit& a, const AllocatedUnit& b) { return a.resource < b.resource; });
  return out;
}

}  // namespace vfrail

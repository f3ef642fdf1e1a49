#include "plugin/device/allocate/freed_files.h"

#include "common/container/allocated_nodes.h"
#include "common/files.h"
#include "common/ids.h"
#include "plugin/device/allocate/cdi_folder.h"
#include "plugin/device/allocate/prepared_record.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

namespace vfrail::plugin {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kEnding = ".json";

// Empty if there is no such folder.
Result<std::vector<std::string>> names_in(const std::string& folder) {
  std::vector<std::string> out;
  std::error_code failed;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed))
    out.push_back(at->path().filename().string());
  if (failed && failed != std::errc::no_such_file_or_directory)
    return Error::from_errno(failed.value(), "list " + folder);
  return out;
}

}  // namespace

Result<FreedFiles::Outcome> FreedFiles::follow(const DevicesInUse& in_use, const AttachedDevices& attached,
                                               Time asked, Time now) {
  const auto busy = TRY(busy_devices(in_use, attached));
  Outcome out;
  std::map<std::string, Seen> free;
  for (const std::string& id : TRY(allocated_devices())) {
    if (busy.contains(id)) continue;
    Seen seen{files_of(id), now};
    if (const auto before = free_.find(id); before != free_.end() && before->second.files == seen.files)
      seen.at = before->second.at;
    if (asked < seen.at + options_.after) {
      const Time due = seen.at + options_.after;
      out.ask_at = std::min(out.ask_at.value_or(due), due);
      free.emplace(id, std::move(seen));
      continue;
    }
    bool removed = true;
    for (const auto& [path, identity] : seen.files)
      removed = TRY(remove_same_file(path, identity)) && removed;
    if (removed) out.removed.push_back(id);
  }
  free_ = std::move(free);
  return out;
}

Result<std::set<std::string>> FreedFiles::busy_devices(const DevicesInUse& in_use,
                                                       const AttachedDevices& attached) const {
  auto out = TRY(devices_of_bundles(in_use, options_.run_dir));
  for (const auto& [resource, devices] : in_use.resources) {
    for (const auto& [id, container] : devices) out.insert(id);
  }
  for (const auto& [id, attachment] : attached) out.insert(id);
  for (const std::string& owner : TRY(list_prepared(options_.run_dir))) {
    const auto record = TRY(read_prepared(options_.run_dir, owner));
    if (!record) continue;
    for (const DeviceId& device : record->files.allocated_nodes) out.insert(device.text());
  }
  return out;
}

Result<std::vector<std::string>> FreedFiles::allocated_devices() const {
  std::vector<std::string> out;
  for (std::string& name : TRY(names_in(options_.run_dir + "/" + kAllocatedFolder))) {
    if (!name.ends_with(kEnding) || name.find('~') != std::string::npos) continue;  // '~': that of a unit
    name.resize(name.size() - kEnding.size());
    if (DeviceId::parse(name)) out.push_back(std::move(name));
  }
  return out;
}

std::map<std::string, std::string> FreedFiles::files_of(const std::string& id) const {
  std::vector<std::string> paths{options_.run_dir + "/" + kAllocatedFolder + "/" + id + std::string(kEnding)};
  for (const std::string& name : names_in(options_.device_info_dir).value_or(std::vector<std::string>())) {
    if (name.ends_with("-" + id + "-device.json")) paths.push_back(options_.device_info_dir + "/" + name);
  }
  std::map<std::string, std::string> out;
  for (const std::string& path : paths) out.emplace(path, identity_of_file(path));
  return out;
}

}  // namespace vfrail::plugin

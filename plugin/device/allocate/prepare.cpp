#include "plugin/device/allocate/prepare.h"

#include "common/errors/error_id.h"
#include "plugin/device/allocate/allocated_part.h"
#include "plugin/device/allocate/attached_devices.h"
#include "plugin/device/allocate/cdi.h"
#include "plugin/device/allocate/prepared_files.h"
#include "plugin/device/allocate/prepared_record.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <unistd.h>
#include <utility>

namespace vfrail::plugin {

namespace {

std::vector<std::vector<AskedUnits>> names_of(const std::vector<ContainerUnits>& containers) {
  std::vector<std::vector<AskedUnits>> out;
  for (const ContainerUnits& container : containers) {
    auto& asked = out.emplace_back();
    for (const UnitsOfPool& one : container) asked.push_back({one.pool->resource(), one.units});
  }
  return out;
}

template <class Item>
void keep_missing_in(const std::vector<Item>& others, std::vector<Item>& items) {
  std::erase_if(
      items, [&](const Item& item) { return std::find(others.begin(), others.end(), item) != others.end(); });
}

template <class Item>
void add_missing(const std::vector<Item>& more, std::vector<Item>& items) {
  for (const Item& item : more) {
    if (std::find(items.begin(), items.end(), item) == items.end()) items.push_back(item);
  }
}

// What a device that a pod has needs of its file only vfrail-cni knows, so it has to be there.
Result<> check_files_in_use(const std::vector<AllocatedContainer>& containers, const AllocatePlaces& places) {
  if (places.cdi_dir.empty()) return {};
  for (const AllocatedContainer& container : containers) {
    for (const AllocatedPart& part : container) {
      for (const std::string& id : part.in_pod) {
        const std::string path = places.cdi_dir + "/" + cdi_name(part.pool->config, id).file_name();
        if (::access(path.c_str(), F_OK) == 0 || errno != ENOENT) continue;
        return Error{Errc::not_found, 0,
                     "the CDI spec " + path + " is missing, and cannot be written anew while device " + id +
                         " is in the pod: its device nodes are not seen from the host; delete the pod",
                     ErrorId::cdi_spec};
      }
    }
  }
  return {};
}

// What was prepared before, with the device nodes as they are now: after a boot, or another load of a driver,
// they have other numbers. Files of devices that a pod has stay as they are.
Result<std::vector<ContainerEdits>> renew(PreparedRecord record,
                                          const std::vector<ContainerUnits>& containers,
                                          const AllocatePlaces& places) {
  const AttachedDevices attached = TRY(attached_devices(places));
  const auto parts = TRY(allocate_containers(containers, places, &attached));
  TRY(check_files_in_use(parts, places));
  PreparedFiles files = TRY(files_of(parts, places));
  if (files.units != record.files.units)
    return Error{Errc::busy, 0,
                 "a bundle that is prepared for " + record.owner +
                     " has other devices now; it has to be released first"};
  add_missing(record.files.paths, files.paths);
  add_missing(record.files.allocated_nodes, files.allocated_nodes);
  const PreparedRecord before = record;
  record.files = std::move(files);
  if (record != before)
    TRY(write_prepared(places.run_dir, record), "record what is prepared for " + record.owner);
  auto edits = TRY(renew_prepared_files(parts, places));
  for (size_t i = 0; i < parts.size(); ++i) {
    const bool in_pod =
        std::any_of(parts[i].begin(), parts[i].end(), [](const auto& part) { return !part.in_pod.empty(); });
    if (in_pod) edits[i] = record.edits->at(i);
  }
  if (edits == *record.edits) return edits;
  record.edits = edits;
  TRY(write_prepared(places.run_dir, record), "record what is prepared for " + record.owner);
  return edits;
}

}  // namespace

Result<std::vector<ContainerEdits>> prepare(const std::vector<ContainerUnits>& containers,
                                            const AllocatePlaces& places) {
  return write_prepared_files(TRY(allocate_containers(containers, places)), places);
}

Result<std::vector<ContainerEdits>> prepare(const PublishedPool& pool,
                                            const std::vector<std::vector<std::string>>& containers,
                                            const AllocatePlaces& places) {
  std::vector<ContainerUnits> all;
  for (const std::vector<std::string>& units : containers) all.push_back({{pool, units}});
  return prepare(all, places);
}

Result<std::vector<ContainerEdits>> prepare_for(const std::string& owner,
                                                const std::vector<ContainerUnits>& containers,
                                                const AllocatePlaces& places) {
  PreparedRecord record{.owner = owner, .asked = names_of(containers), .files = {}};
  auto known = TRY(read_prepared(places.run_dir, owner), "read what was prepared for " + owner);
  if (known && known->asked != record.asked)
    return Error{Errc::busy, 0,
                 "other devices are prepared for " + owner + "; they have to be released first"};
  if (known && known->edits) return renew(*std::move(known), containers, places);
  const auto parts = TRY(allocate_containers(containers, places));
  record.files = TRY(files_of(parts, places));
  TRY(write_prepared(places.run_dir, record), "record what is prepared for " + owner);
  auto edits = write_prepared_files(parts, places);
  if (edits) {
    record.edits = *edits;
    if (const auto saved = write_prepared(places.run_dir, record); !saved) edits = saved.error();
  }
  if (edits) return edits;
  const auto released = release(owner, places);
  return std::move(edits.error()).and_also(released ? "" : released.error().text);
}

Result<> release(const std::string& owner, const AllocatePlaces& places) {
  auto record = TRY(read_prepared(places.run_dir, owner), "read what was prepared for " + owner);
  if (!record) return {};
  for (const std::string& other : TRY(list_prepared(places.run_dir))) {
    const auto theirs = other == owner ? std::nullopt : TRY(read_prepared(places.run_dir, other));
    if (!theirs) continue;
    keep_missing_in(theirs->files.paths, record->files.paths);
    keep_missing_in(theirs->files.allocated_nodes, record->files.allocated_nodes);
    keep_missing_in(theirs->files.units, record->files.units);
  }
  TRY(remove_prepared_files(record->files, places), "remove what was prepared for " + owner);
  return remove_prepared(places.run_dir, owner);
}

}  // namespace vfrail::plugin

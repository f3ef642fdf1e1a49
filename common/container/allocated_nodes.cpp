#include "common/container/allocated_nodes.h"

#include "common/container/held_folder.h"
#include "common/files.h"
#include "common/json.h"

namespace vfrail {

namespace {

constexpr size_t kMaxFileBytes = size_t{16} * 1024;

std::string allocated_nodes_path(const std::string& run_folder, const DeviceId& device) {
  return run_folder + "/" + kAllocatedFolder + "/" + device.text() + ".json";
}

// Less trusted processes write below the run folder, so no symbolic link there is followed.
Result<std::optional<HeldFile>> find_allocated_nodes(const std::string& run_folder, const DeviceId& device) {
  const auto run = TRY(HeldFolder::open(run_folder));
  if (!run) return std::optional<HeldFile>();
  auto allocated = TRY(run->enter(kAllocatedFolder));
  if (!allocated) return std::optional<HeldFile>();
  TRY(allocated->check_owner());
  return std::optional(HeldFile{std::move(*allocated), device.text() + ".json"});
}

}  // namespace

Result<> write_allocated_nodes(const std::string& run_folder, const DeviceId& device,
                               const AllocatedNodes& allocated) {
  TRY(make_folder(run_folder + "/" + kAllocatedFolder, 0700));
  Json out;
  out.set("nodes", Json(allocated.nodes));
  if (!allocated.cdi_spec.empty()) out.set("cdiSpec", allocated.cdi_spec);
  return write_file(allocated_nodes_path(run_folder, device), out.text() + "\n", 0600, Durability::renamed);
}

Result<std::optional<AllocatedNodes>> read_allocated_nodes(const std::string& run_folder,
                                                           const DeviceId& device) {
  const std::string path = allocated_nodes_path(run_folder, device);
  const auto file = TRY(find_allocated_nodes(run_folder, device));
  if (!file) return std::optional<AllocatedNodes>();
  const auto text = TRY(read_file(file->path(), kMaxFileBytes), path);
  if (!text) return std::optional<AllocatedNodes>();
  const Json json = TRY(Json::parse_object(*text, kMaxFileBytes), path);
  ObjectReader reader(*json.as_object(), path);
  AllocatedNodes out;
  out.nodes = TRY(reader.texts("nodes")).value_or(std::vector<std::string>());
  out.cdi_spec = TRY(reader.text("cdiSpec")).value_or("");
  if (out.cdi_spec.empty()) out.file = identity_of_file(file->path());
  return std::optional(std::move(out));
}

Result<> remove_allocated_nodes(const std::string& run_folder, const DeviceId& device) {
  const auto file = TRY(find_allocated_nodes(run_folder, device));
  return file ? remove_file(file->path()) : Result<>();
}

Result<> end_allocated_nodes(const std::string& run_folder, const DeviceId& device,
                             const std::optional<std::string>& file) {
  const auto allocated = read_allocated_nodes(run_folder, device);
  if (allocated && (!*allocated || !(*allocated)->cdi_spec.empty())) return {};
  if (!allocated && allocated.error().sys != 0) return allocated.error();  // it may have a CDI spec
  const auto there = TRY(find_allocated_nodes(run_folder, device));        // also an invalid one
  if (!there) return {};
  if (!file) return remove_file(there->path());
  TRY(remove_same_file(there->path(), *file));
  return {};
}

}  // namespace vfrail

#include "common/promise.h"

#include "common/files.h"
#include "common/json.h"

namespace vfrail {

namespace {

constexpr size_t kMaxBytes = size_t{16} * 1024;

std::string promise_path(const std::string& run_folder, const DeviceId& device) {
  return run_folder + "/promised/" + device.text() + ".json";
}

}  // namespace

Result<> write_promise(const std::string& run_folder, const DeviceId& device, const Promise& promise) {
  TRY(make_folder(run_folder + "/promised", 0700), "");
  Json out;
  out.set("nodes", Json(promise.nodes));
  if (!promise.cdi_spec.empty()) out.set("cdiSpec", promise.cdi_spec);
  return write_file(promise_path(run_folder, device), out.text() + "\n", 0600, Durability::renamed);
}

Result<std::optional<Promise>> read_promise(const std::string& run_folder, const DeviceId& device) {
  const std::string path = promise_path(run_folder, device);
  const auto text = TRY(read_file(path, kMaxBytes), "");
  if (!text) return std::optional<Promise>();
  const Json json = TRY(Json::parse_object(*text, kMaxBytes), path);
  ObjectReader reader(*json.as_object(), path);
  Promise out;
  out.nodes = TRY(reader.texts("nodes"), "").value_or(std::vector<std::string>());
  out.cdi_spec = TRY(reader.text("cdiSpec"), "").value_or("");
  return std::optional(std::move(out));
}

Result<> remove_promise(const std::string& run_folder, const DeviceId& device) {
  return remove_file(promise_path(run_folder, device));
}

Result<> end_promise(const std::string& run_folder, const DeviceId& device) {
  const auto promise = read_promise(run_folder, device);
  if (promise && (!*promise || !(*promise)->cdi_spec.empty())) return {};
  if (!promise && promise.error().sys != 0) return promise.error();  // it may be one by CDI
  return remove_promise(run_folder, device);                         // also one that makes no sense
}

}  // namespace vfrail

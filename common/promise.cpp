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

Result<> write_promise(const std::string& run_folder, const DeviceId& device,
                       const std::vector<std::string>& nodes) {
  TRY(make_folder(run_folder + "/promised", 0700), "");
  Json out;
  out.set("nodes", Json(nodes));
  return write_file(promise_path(run_folder, device), out.text() + "\n", 0600, Durability::renamed);
}

Result<std::optional<std::vector<std::string>>> read_promise(const std::string& run_folder,
                                                             const DeviceId& device) {
  const std::string path = promise_path(run_folder, device);
  const auto text = TRY(read_file(path, kMaxBytes), "");
  if (!text) return std::optional<std::vector<std::string>>();
  const Json json = TRY(Json::parse_object(*text, kMaxBytes), path);
  return ObjectReader(*json.as_object(), path).texts("nodes");
}

Result<> remove_promise(const std::string& run_folder, const DeviceId& device) {
  return remove_file(promise_path(run_folder, device));
}

}  // namespace vfrail

#include "cni/node/device_info.h"

#include "common/container/held_folder.h"
#include "common/files.h"
#include "common/text.h"

namespace vfrail::cni {

namespace {

// A file has some 200 bytes.
constexpr size_t kMaxDeviceInfoBytes = 64 << 10;

Result<std::optional<Json>> read_device_info(const std::string& path) {
  const auto text = TRY(read_file(path, kMaxDeviceInfoBytes));
  if (!text) return std::optional<Json>();
  return std::optional<Json>(TRY(Json::parse(*text, kMaxDeviceInfoBytes)));
}

Json new_device_info(const DeviceInfo& device) {
  Json pci;
  pci.set("pci-address", device.address.text());
  if (!device.pf_address.empty()) pci.set("pf-pci-address", device.pf_address);
  Json out;
  return out.set("type", "pci").set("version", "1.1.0").set("pci", std::move(pci));
}

}  // namespace

Result<std::optional<Json>> corrected_device_info(const std::optional<Json>& file, const DeviceInfo& device) {
  if (device.rdma.empty()) return std::optional<Json>();
  Json out = file.value_or(new_device_info(device));
  const Json* type = out.find("type");
  if (type != nullptr && *type != Json("pci")) return std::optional<Json>();
  const Json* body = out.find("pci");
  const Json* address = body != nullptr ? body->find("pci-address") : nullptr;
  if (address == nullptr || *address != Json(device.address.text()))
    return Error{Errc::protocol, 0, "it is not about " + device.address.text()};
  Json pci = *body;
  out.set("pci", std::move(pci.set("rdma-device", joined(device.rdma, ","))));
  return out == file ? std::optional<Json>() : std::optional<Json>(std::move(out));
}

Result<> correct_device_info_file(const std::string& path, const std::vector<std::string>& folders,
                                  const DeviceInfo& device) {
  const std::string what = "device-info file " + path;
  const auto file = TRY(find_below(folders, path), what);
  if (!file) return Error{Errc::not_found, 0, what + ": its folder is not there"};
  const auto have = TRY(read_device_info(file->path()), what);
  const auto wanted = TRY(corrected_device_info(have, device), what);
  // 0444 like Multus; not synced: it does not outlive a boot.
  if (!wanted) return {};
  TRY(write_file(file->path(), wanted->text(), 0444, Durability::renamed), what);
  return {};
}

}  // namespace vfrail::cni

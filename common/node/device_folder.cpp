#include "common/node/device_folder.h"

#include <algorithm>
#include <cerrno>

namespace vfrail {

std::string device_folder(const DeviceId& id) {
  return std::string(id.pci() ? kPciDevices : kAuxiliaryDevices) + "/" + id.text();
}

std::optional<PciAddress> innermost_function(const std::string& path) {
  std::optional<PciAddress> found;
  for (size_t start = 0; start < path.size();) {
    const size_t slash = std::min(path.find('/', start), path.size());
    if (const auto address = PciAddress::parse(std::string_view(path).substr(start, slash - start)))
      found = address;
    start = slash + 1;
  }
  return found;
}

DeviceFolder::DeviceFolder(const SysRoot& sys, const DeviceId& id, Use use)
    : here_(use == Use::many_files ? sys.at(device_folder(id)) : SysRoot(sys.path(device_folder(id)))) {}

Result<std::string> DeviceFolder::text(std::string_view entry) const {
  return TRY(here_.text(entry)).value_or("");
}

Result<std::vector<std::string>> DeviceFolder::list(std::string_view entry) const {
  return TRY(here_.list(entry)).value_or(SysRoot::Names());
}

Result<std::string> DeviceFolder::link_name(std::string_view entry) const {
  return TRY(here_.link_name(entry)).value_or("");
}

Result<std::string> DeviceFolder::text_of_firmware(std::string_view entry) const {
  auto out = here_.text(entry);
  if (out) return (*std::move(out)).value_or("");
  const int error = out.error().sys;
  const bool of_this_process = error == EMFILE || error == ENFILE || error == ENOMEM || error == EACCES ||
                               error == EPERM || error == EINTR || error == 0;
  if (of_this_process) return std::move(out).error();
  return std::string();
}

Result<std::vector<std::string>> list_vfs(const DeviceFolder& pf, const std::string& last) {
  std::vector<std::string> out;
  while (out.empty() || out.back() != last) {
    std::string vf = TRY(pf.link_name("virtfn" + std::to_string(out.size())));
    if (vf.empty()) break;
    out.push_back(std::move(vf));
  }
  return out;
}

}  // namespace vfrail

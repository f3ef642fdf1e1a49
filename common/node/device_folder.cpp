#include "common/node/device_folder.h"

#include "common/text.h"

#include <algorithm>
#include <cerrno>

namespace vfrail {

namespace {

constexpr uint32_t kMaxVfIndex = 65'534;  // TotalVFs of the PCI specification has 16 bits

}  // namespace

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

namespace {

// The numbers of the entries virtfnN from `first` on, in order.
Result<std::vector<uint32_t>> numbers_of_vfs(const DeviceFolder& pf, size_t first) {
  constexpr std::string_view kLink = "virtfn";
  std::vector<uint32_t> out;
  for (const std::string& name : TRY(pf.list(""))) {
    const auto number =
        name.starts_with(kLink) ? parse_decimal(std::string_view(name).substr(kLink.size())) : std::nullopt;
    if (number && *number >= first && *number <= kMaxVfIndex) out.push_back(*number);
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

Result<std::vector<std::string>> list_vfs(const DeviceFolder& pf, const std::string& last) {
  std::vector<std::string> out;
  while (out.empty() || out.back() != last) {
    std::string vf = TRY(pf.link_name("virtfn" + std::to_string(out.size())));
    if (vf.empty()) break;
    out.push_back(std::move(vf));
  }
  const bool is_found = !out.empty() && out.back() == last;
  if (is_found || TRY(pf.number("sriov_numvfs")).value_or(0) <= static_cast<int64_t>(out.size())) return out;
  // Of those that the PF has made, the next one has been removed, and others can follow it.
  for (const uint32_t number : TRY(numbers_of_vfs(pf, out.size()))) {
    std::string vf = TRY(pf.link_name("virtfn" + std::to_string(number)));
    if (vf.empty()) continue;
    out.resize(number);
    out.push_back(std::move(vf));
    if (out.back() == last) break;
  }
  return out;
}

}  // namespace vfrail

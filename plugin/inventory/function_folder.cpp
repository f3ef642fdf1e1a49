#include "plugin/inventory/function_folder.h"

#include "common/text.h"

#include <algorithm>
#include <cerrno>

namespace vfrail {

std::string pci_folder(const PciAddress& address) { return "sys/bus/pci/devices/" + address.text(); }

std::string auxiliary_folder(std::string_view name) {
  return "sys/bus/auxiliary/devices/" + std::string(name);
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

std::optional<int> numa_node_of(std::optional<int64_t> number) {
  constexpr int64_t kMostNodes = 1 << 16;  // MAX_NUMNODES is 1024 at most
  if (!number || *number < 0 || *number >= kMostNodes) return std::nullopt;
  return static_cast<int>(*number);
}

// The link in the bus's folder says where a function is: "../../../devices/pci0000:16/0000:16:01.0/...".
Result<std::vector<std::string>> read_pcie_path(const SysRoot& sys, const PciAddress& address) {
  const std::string target = TRY(sys.link_target(pci_folder(address)), "").value_or("");
  const size_t start = target.find("/pci");
  return start == std::string::npos ? std::vector<std::string>() : split(target.substr(start), "/");
}

Result<std::string> FunctionFolder::text(std::string_view entry) const {
  return TRY(here_.text(entry), "").value_or("");
}

Result<std::vector<std::string>> FunctionFolder::list(std::string_view entry) const {
  return TRY(here_.list(entry), "").value_or(SysRoot::Names());
}

Result<std::string> FunctionFolder::text_of_firmware(std::string_view entry) const {
  auto out = here_.text(entry);
  if (out) return (*std::move(out)).value_or("");
  const int error = out.error().sys;
  const bool of_this_process = error == EMFILE || error == ENFILE || error == ENOMEM || error == EACCES ||
                               error == EPERM || error == EINTR || error == 0;
  if (of_this_process) return std::move(out).error();
  return std::string();
}

}  // namespace vfrail

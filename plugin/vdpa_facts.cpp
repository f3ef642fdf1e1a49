#include "plugin/vdpa_facts.h"

#include <optional>
#include <string>

namespace vfrail {

namespace {

// The innermost PCI function of "sys/devices/pci0000:00/0000:00:02.0/0000:65:00.2/vdpa0".
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

}  // namespace

std::map<PciAddress, Vdpa> read_vdpa_devices(const SysRoot& sys) {
  std::map<PciAddress, Vdpa> out;
  for (const std::string& name : sys.list("sys/bus/vdpa/devices")) {
    const std::string folder = "sys/bus/vdpa/devices/" + name;
    const auto real = sys.resolve(folder);
    if (!real) continue;
    const auto function = innermost_function(*real);
    if (!function) continue;
    Vdpa device;
    device.name = name;
    device.driver = sys.link_name(folder + "/driver").value_or("");
    for (const std::string& entry : sys.list(folder)) {
      if (entry.starts_with("vhost-vdpa-")) device.node = entry;
    }
    out.emplace(*function, std::move(device));
  }
  return out;
}

}  // namespace vfrail

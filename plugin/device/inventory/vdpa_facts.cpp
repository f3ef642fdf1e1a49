#include "plugin/device/inventory/vdpa_facts.h"

#include "common/ids.h"

#include <string>

namespace vfrail::plugin {

namespace {

// The function whose own folder has the device: of a path through a sub-function none, because then the
// device is the sub-function's. The peer compares the management device (vdpa_mgmt_dev), of which the bus is
// "auxiliary" there.
std::optional<PciAddress> parent_function(const std::string& path) {
  const std::string parent = path.substr(0, path.rfind('/'));
  return PciAddress::parse(parent.substr(parent.rfind('/') + 1));
}

}  // namespace

Result<std::map<PciAddress, Vdpa>> read_vdpa_devices(const SysRoot& sys) {
  std::map<PciAddress, Vdpa> out;
  for (const std::string& name : TRY(sys.list("sys/bus/vdpa/devices")).value_or(SysRoot::Names())) {
    const std::string folder = "sys/bus/vdpa/devices/" + name;
    const auto real = TRY(sys.resolve(folder));
    if (!real) continue;
    const auto function = parent_function(*real);
    if (!function) continue;
    Vdpa device;
    device.name = name;
    device.driver = Driver(TRY(sys.link_name(folder + "/driver")).value_or(""));
    for (const std::string& entry : TRY(sys.list(folder)).value_or(SysRoot::Names())) {
      if (entry.starts_with("vhost-vdpa-")) device.node = entry;
    }
    out.emplace(*function, std::move(device));
  }
  return out;
}

}  // namespace vfrail::plugin

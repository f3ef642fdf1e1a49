#include "plugin/config_foreign.h"

#include <algorithm>
#include <functional>

namespace vfrail {

namespace {

struct Field {
  const char* name;
  std::vector<DeviceType> types;  // those that the peer has it for
  std::function<bool(const Selector&)> is_set;
  std::function<void(Selector&)> clear;
};

template <class Value>
Field field(const char* name, std::vector<DeviceType> types, Value Selector::*member) {
  return {name, std::move(types), [member](const Selector& selector) { return selector.*member != Value(); },
          [member](Selector& selector) { selector.*member = Value(); }};
}

// NetDeviceSelectors, AuxNetDeviceSelectors and AccelDeviceSelectors in pkg/types/types.go of the peer;
// acpiIndexes of an auxNetDevice are read there and never compared (auxNetDeviceProvider.go). vendors,
// devices and drivers are for every type.
const std::vector<Field>& fields() {
  constexpr DeviceType kNet = DeviceType::net_device;
  constexpr DeviceType kAux = DeviceType::aux_net_device;
  constexpr DeviceType kAccelerator = DeviceType::accelerator;
  static const std::vector<Field> kFields = {
      field("pciAddresses", {kNet, kAccelerator}, &Selector::pci_addresses),
      field("acpiIndexes", {kNet}, &Selector::acpi_indexes),
      field("pfNames", {kNet, kAux}, &Selector::pf_names),
      field("rootDevices", {kNet, kAux}, &Selector::root_devices),
      field("linkTypes", {kNet, kAux}, &Selector::link_types),
      field("ddpProfiles", {kNet}, &Selector::ddp_profiles),
      field("pKeys", {kNet}, &Selector::pkeys),
      field("isRdma", {kNet, kAux}, &Selector::is_rdma),
      field("needVhostNet", {kNet, kAux}, &Selector::need_vhost_net),
      field("vdpaType", {kNet}, &Selector::vdpa_type),
      field("auxTypes", {kAux}, &Selector::aux_types),
  };
  return kFields;
}

}  // namespace

void ignore_foreign_fields(ResourceConfig& resource, ConfigWarnings& warnings) {
  for (const Field& one : fields()) {
    if (std::find(one.types.begin(), one.types.end(), resource.device_type) != one.types.end()) continue;
    for (Selector& selector : resource.selectors) {
      if (!one.is_set(selector)) continue;
      one.clear(selector);
      warnings.remark("selectors", std::string(one.name) + " has no effect with deviceType " +
                                       type_name(resource.device_type) +
                                       ", as in sriov-network-device-plugin: it is ignored");
    }
  }
}

}  // namespace vfrail

// Why a device is unhealthy, or in no resource.
#include "common/errors/error_id.h"

#include <iterator>

namespace vfrail {

namespace {

constexpr ErrorRow kHealthErrors[] = {
    {ErrorId::port_down, "VF-PORT-DOWN",
     "The device is unhealthy: the InfiniBand port behind it, or a shared device's own, is down.",
     "Its physical state says why. Disabled: it is switched off on the node, mostly because its interface "
     "is down. Polling: nothing answers at the other end of the cable. INIT (Initialize): no subnet manager "
     "has configured it.",
     "`vfrail doctor` or `ibstat` on the node shows the state. Disabled: `ip link set NAME up`; if it stays "
     "so, `mlxlink -d ADDRESS` shows why. Polling: cable and switch port. INIT: the subnet manager. "
     "\"health\": {\"port\": false} ignores it."},
    {ErrorId::admin_down, "VF-ADMIN-DOWN",
     "The device is unhealthy, or as a shared RDMA device of no use: its port's interface is "
     "administratively down.",
     "Nobody has brought it up, or somebody took it down.",
     "`ip link set NAME up` on the node, and in its network configuration. `setLinksUp` of a shared "
     "resource does it where vfrail is in the host's network namespace with NET_ADMIN: as a service of the "
     "node, or with the chart's values hostNetwork and setLinksUp."},
    {ErrorId::no_carrier, "VF-NO-CARRIER", "The device is unhealthy: its Ethernet port has no carrier.",
     "Cable, transceiver or switch port.",
     "`ethtool NAME` on the node shows the link. \"health\": {\"carrier\": false} ignores it."},
    {ErrorId::guid_unset, "VF-GUID-UNSET",
     "The device is unhealthy: it is an InfiniBand VF without a GUID, which cannot join the fabric.",
     "Nobody has set node_guid and port_guid of the VF.",
     "`ip link set PF vf N node_guid GUID`, likewise port_guid; then rebind the driver of the VF."},
    {ErrorId::devlink_error, "VF-DEVLINK-ERROR",
     "The device is unhealthy: a devlink health reporter is in state error.",
     "The firmware or the driver has reported a fault of the card.",
     "`devlink health show` names it. Recover it (`devlink health recover`), or reset the card."},
    {ErrorId::device_gone, "VF-DEVICE-GONE",
     "A device that a container has, or that is being allocated, has vanished from the node.",
     "The VFs were destroyed or created again, or the card is gone.",
     "Delete the pod. Change the number of VFs only on drained nodes."},
    {ErrorId::no_longer_selected, "VF-NO-LONGER-SELECTED",
     "The device is unhealthy: it is allocated to a container, and the configuration no longer selects it "
     "for this resource.",
     "The configuration was changed while the container ran.",
     "Nothing: it leaves the list when the pod ends."},
    {ErrorId::not_selected, "VF-NOT-SELECTED", "The device is in no resource: no selector matches.",
     "For each resource a selector does not match; the reason has the value of the device and the wanted "
     "one.",
     "`vfrail inspect --explain DEVICE` compares every field. Change the selector, or it is not the device "
     "that you mean."},
    {ErrorId::other_device_type, "VF-OTHER-DEVICE-TYPE",
     "The device is in no resource: no resource has its deviceType.",
     "Network functions are netDevice, sub-functions auxNetDevice, accelerators accelerator; the "
     "configuration has none of this kind.",
     "Add a resource with that deviceType, if pods are to get the device."},
    {ErrorId::claimed_before, "VF-CLAIMED-BEFORE",
     "A selector matches, but an earlier resource of the configuration has the device.",
     "A device is in one exclusive resource only: the first that matches.",
     "Change the order of the resources, or make the selectors of the first narrower."},
    {ErrorId::pf_has_vfs, "VF-PF-HAS-VFS", "The PF is in no resource, because its VFs are advertised.",
     "A pod that gets the PF would take the port away from the VFs.",
     "Nothing. A PF goes into an exclusive resource only without VFs."},
    {ErrorId::manages_nvlink, "VF-MANAGES-NVLINK",
     "The function is in no resource: the NVLink switches are managed through it.",
     "It is the management function of an NVSwitch (SW_MNG in its vital product data), no network card for "
     "pods.",
     "Nothing."},
};
static_assert(kHealthErrors[0].id == ErrorId::port_down &&
              std::size(kHealthErrors) ==
                  static_cast<size_t>(kLastErrorId) - static_cast<size_t>(kHealthErrors[0].id) + 1);

}  // namespace

std::span<const ErrorRow> health_errors() { return kHealthErrors; }

}  // namespace vfrail

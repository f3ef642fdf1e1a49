// NetworkKind: in what the kinds of networks of network-operator differ for the controller.
#pragma once

#include "plugin/documents/network.h"
#include "plugin/kube/client/resource_type.h"

#include <array>
#include <string_view>

namespace vfrail::kube {

struct NetworkKind {
  ResourceType type;
  plugin::OperatorNetworkKind document;
  std::string_view default_namespace;  // of the definition; empty: none
  std::string_view link;               // the key of the status that says where the definition is
  // The names of entries in status.appliedStates; empty: the status has no such list.
  std::string_view own_state;
  std::string_view operator_state;
};

inline constexpr std::array<NetworkKind, 3> kNetworkKinds{{
    {kHostDeviceNetworks, plugin::OperatorNetworkKind::host_device, "", "hostDeviceNetworkAttachmentDef",
     "vfrail-host-device-network", "state-host-device-network"},
    {kMacvlanNetworks, plugin::OperatorNetworkKind::macvlan, "default", "macvlanNetworkAttachmentDef", "",
     ""},
    {kIpoibNetworks, plugin::OperatorNetworkKind::ipoib, "default", "ipoibNetworkAttachmentDef", "", ""},
}};

}  // namespace vfrail::kube

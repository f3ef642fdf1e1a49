// Networks of pods as Kubernetes objects: NetworkAttachmentDefinitions, and the objects from which operators
// make them. Reads and checks what is known without a cluster. Pure.
#pragma once

#include "plugin/documents/documents.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vfrail::plugin {

struct Network {
  std::string where;               // for messages, as Document has it
  std::string name;                // "default/hostdev"
  std::string resource;            // of its annotation; empty: none
  uint32_t resource_line = 0;      // 0: not known
  std::vector<std::string> types;  // of its CNI plugins, in their order; empty: Multus reads them on the node
  std::vector<std::string> faults;   // "FILE: document 2 (...): spec.config: line 7: ..."
  std::vector<std::string> ignored;  // keys of vfrail-cni's plugins, as in `faults`
};

// Whether the document is a NetworkAttachmentDefinition, or what an operator makes one of: HostDeviceNetwork,
// MacvlanNetwork, IPoIBNetwork, SriovNetwork, SriovIBNetwork.
bool is_network(const Document& document);
// Reads either kind; errors are in Network::faults. `operator_prefix` is that of the resources of
// sriov-network-operator's networks.
Network read_network(const Document& document, const std::string& operator_prefix);

// Of sriov-network-operator.
bool is_sriov_network(const Document& document);
Network read_sriov_network(const Document& document, const std::string& operator_prefix);

// Of network-operator (mellanox.com).
enum class OperatorNetworkKind : uint8_t { host_device, macvlan, ipoib };

struct OperatorNetwork {
  OperatorNetworkKind kind = OperatorNetworkKind::host_device;
  std::string name;
  std::string name_space;
  std::string resource;  // of a HostDeviceNetwork alone, with the prefix that network-operator puts before it
  std::string master;    // not of a HostDeviceNetwork; empty: the interface of the default route
  std::string mode;      // of a MacvlanNetwork; empty: bridge
  int64_t mtu = 0;       // of a MacvlanNetwork; 0: that of the master
  std::string ipam;      // JSON as it is stored; empty: none
  std::string meta_plugins;  // JSON objects with commas between them, as written
};

std::optional<OperatorNetworkKind> operator_network_kind(const Document& document);
const char* name_of(OperatorNetworkKind kind);    // "MacvlanNetwork"
const char* plugin_of(OperatorNetworkKind kind);  // network-operator's: "host-device", "macvlan", "ipoib"
// Errors name the key and its line.
Result<OperatorNetwork> read_operator_network(const Document& document, OperatorNetworkKind kind);

// The manifest of the NetworkAttachmentDefinition: byte for byte the text that network-operator makes and
// stores; what it could not store is an error. For a HostDeviceNetwork `type` is that of the CNI plugin, and
// with "vfrail" instead of "host-device" that key alone differs.
Result<std::string> render_network(const OperatorNetwork& network, const std::string& type);

}  // namespace vfrail::plugin

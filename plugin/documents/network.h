// Networks of pods as Kubernetes objects: NetworkAttachmentDefinitions, and the HostDeviceNetworks from which
// network-operator makes them. Reads and checks what is known without a cluster. Pure.
#pragma once

#include "plugin/documents/documents.h"

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
// SriovNetwork, SriovIBNetwork.
bool is_network(const Document& document);
// Reads either kind; errors are in Network::faults. `operator_prefix` is that of the resources of
// sriov-network-operator's networks.
Network read_network(const Document& document, const std::string& operator_prefix);

// Of sriov-network-operator.
bool is_sriov_network(const Document& document);
Network read_sriov_network(const Document& document, const std::string& operator_prefix);

struct HostDeviceNetwork {
  std::string name;
  std::string name_space;
  std::string resource;      // with the prefix that network-operator puts before it
  std::string ipam;          // JSON as it was written; empty: none
  std::string meta_plugins;  // JSON objects with commas between them, as written
};

bool is_host_device_network(const Document& document);
// Errors name the key and its line.
Result<HostDeviceNetwork> read_host_device_network(const Document& document);

// The manifest of the NetworkAttachmentDefinition for CNI plugins of that type. For "host-device" it is, byte
// for byte, the text that network-operator makes and stores; what it could not store is an error.
Result<std::string> render_network(const HostDeviceNetwork& network, const std::string& type);

}  // namespace vfrail::plugin

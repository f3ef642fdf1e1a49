// The RDMA devices of a device, as sysfs shows them in this RDMA namespace, with the character devices of
// every port. Reads only.
#pragma once

#include "common/node/device_folder.h"
#include "common/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vfrail {

struct RdmaPort {
  uint32_t number = 1;          // 0: not known
  std::string state = {};       // "ACTIVE", "DOWN", "INIT", "ARMED"
  std::string link_layer = {};  // "Ethernet", "InfiniBand"
  std::string umad = {};        // "umad0"; empty if there is none
  std::string issm = {};
  std::string physical = {};  // "LinkUp", "Polling", "Disabled"

  bool operator==(const RdmaPort&) const = default;
};

// What carries the messages of an RDMA device, as the kernel decides it by node type and link layer
// (rdma_node_get_transport() and rdma_port_get_link_layer() in drivers/infiniband/core).
enum class Transport : uint8_t {
  unknown,  // nothing of the device is visible
  infiniband,
  roce,
  iwarp,  // over TCP; its node is an RNIC: irdma, erdma, siw
  own,    // a protocol of its own: EFA, usNIC
};
Transport transport_of(const std::string& node_type, const std::string& link_layer);
const char* name_of(Transport transport);  // "InfiniBand", "RoCE", "iWARP", "own protocol", "not known"

struct RdmaFacts {
  RdmaName name;            // "mlx5_4"
  std::string uverbs = {};  // "uverbs4"
  std::string ucm = {};     // "ucm0" of old kernels, mostly empty
  std::vector<RdmaPort> ports = {};
  std::string guid = {};       // of the node: "b859:9f03:00a8:1c2e"
  std::string node_type = {};  // "CA", "RNIC"; read where a port is not InfiniBand's, empty: not known

  Transport transport() const;
  bool operator==(const RdmaFacts&) const = default;
};

// Folders of a device's own.
inline constexpr const char* kRdmaDevices = "infiniband";
inline constexpr const char* kVerbsNodes = "infiniband_verbs";
inline constexpr const char* kMadNodes = "infiniband_mad";

// Reads the link layer of the first port, which becomes the only known port.
Result<> read_link_layer(const DeviceFolder& folder, RdmaFacts& out);

// Reads all ports of all RDMA devices of a device. `verbs_nodes`: the names of its verbs nodes.
Result<> read_rdma_ports(const DeviceFolder& folder, const std::vector<std::string>& verbs_nodes,
                         std::vector<RdmaFacts>& out);

// "CA" or "RNIC" of the file in the folder of an RDMA device, `base`; empty: there is none.
Result<std::string> read_node_type(const DeviceFolder& folder, const std::string& base);

// A port's folder among those of its device: "infiniband/mlx5_4/ports/1/".
std::string rdma_port_folder(const std::string& rdma, uint32_t number);
// Reads the files of one port, in the folder `base` ("", or with a slash at the end).
Result<RdmaPort> read_rdma_port(const DeviceFolder& folder, const std::string& base, uint32_t number);
// read_port_rate(): "400 Gb/sec (4X NDR)"; rate_mbps(): such a text in Mb/s, no value for any other text.
Result<std::string> read_port_rate(const DeviceFolder& folder, const std::string& base);
std::optional<uint32_t> rate_mbps(const std::string& rate);

// The RDMA device of a verbs node, by its present name; empty: there is no such node.
Result<std::string> read_rdma_of_node(const DeviceFolder& folder, const std::string& node);
// The present names of a device's RDMA devices, in whichever namespace they are: the verbs nodes, which stay
// while the device is in a pod, have their names.
Result<std::vector<std::string>> read_rdma_names_anywhere(const DeviceFolder& folder,
                                                          const std::vector<std::string>& verbs_nodes);

}  // namespace vfrail

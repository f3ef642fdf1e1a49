// VfsConfig: which VFs a node's PFs are to have: the list `vfs` of a configuration, and `rdma`. `vfrail
// provision` makes them; serve does not allocate them before. Values; formats/vfs.cpp reads them.
#pragma once

#include "common/errors/warning.h"
#include "common/ids.h"
#include "common/kernel/eswitch.h"
#include "common/kernel/kernel.h"
#include "common/kernel/vf_settings.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vfrail::plugin {

// Where GUIDs or MAC addresses of VFs come from.
enum class AddressSource : uint8_t {
  repair,   // not configured: a VF without one gets the derived one, any other stays
  derived,  // from the PF and the VF's index
  list,     // one for each VF, in the order of their indexes
  none,     // never set
};

enum class VfDriver : uint8_t {
  kernel,  // the one that the kernel finds for it
  none,
  vfio_pci,
};
const char* vf_driver_name(VfDriver driver);  // "default", "none", "vfio-pci": as the configuration has them

struct VfDriverChoice {
  VfDriver driver = VfDriver::kernel;
  std::string text;  // "vfio-pci", or with indexes of VFs: "vfio-pci#4-7" (config/device_range.h)
};

struct VfsEntry {
  std::string place;  // "vfs[0]", for messages
  // A PF with one of these.
  std::vector<PciAddress> devices = {};
  std::vector<std::string> names = {};    // of its interface, or patterns of such: "ens1f*"
  std::vector<std::string> serials = {};  // of its card
  uint32_t count = 0;
  std::string link_type = {};  // "ether", "infiniband"; empty: either
  std::optional<uint32_t> mtu = std::nullopt;
  std::optional<EswitchMode> eswitch = std::nullopt;
  AddressSource guids = AddressSource::repair;
  std::vector<uint64_t> guid_list = {};
  std::string guid_file = {};  // of sriov-network-operator; its GUIDs become the list where the node is read
  AddressSource macs = AddressSource::repair;
  std::vector<MacAddress> mac_list = {};
  VfSettings policy = {};                    // trust, spoof check, link state, rates: what every VF gets
  std::vector<VfDriverChoice> drivers = {};  // the first that has a VF's index

  // No value: not configured. Then a VF without a driver gets the kernel's, and any other keeps its own.
  std::optional<VfDriver> driver_of(uint32_t vf) const;
};

struct VfsConfig {
  std::vector<VfsEntry> entries;  // the first that matches a PF has it
  std::optional<RdmaNetnsMode> rdma_netns;
};

}  // namespace vfrail::plugin

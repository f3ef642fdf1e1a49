// Device: what sysfs shows about one PCI function or auxiliary device, and read_device(), the one reader of
// it: for a scan of the node, which needs nearly all, and for a verb of vfrail-cni, which needs little.
// States facts and decides nothing.
#pragma once

#include "common/ids.h"
#include "common/node/driver.h"
#include "common/node/netdevs.h"
#include "common/node/rdma_facts.h"
#include "common/node/sys_root.h"
#include "common/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vfrail {

// What is read of a device. Each costs system calls, so callers name what they need.
enum class Facts : uint16_t {
  ids = 1 << 0,    // class, vendor and device; of PCI functions
  place = 1 << 1,  // PCIe path, NUMA node, ACPI index; of PCI functions
  pf = 1 << 2,
  vf_counts = 1 << 3,  // of what is not a VF
  driver = 1 << 4,
  netdevs = 1 << 5,  // their names; and the driver, which says where they are
  dev_ports = 1 << 6,
  netdev_settings = 1 << 7,
  rdma = 1 << 8,          // the names of its RDMA devices
  link_layer = 1 << 9,    // of their first ports; also where rdma_ports are read
  rdma_ports = 1 << 10,   // all of their ports
  verbs_nodes = 1 << 11,  // also where rdma_ports are read
  mad_nodes = 1 << 12,    // alone, whatever their port is
  user_nodes = 1 << 13,   // IOMMU group, vfio, uio
  numa_node = 1 << 14,    // also where the place is read
};
constexpr Facts operator|(Facts a, Facts b) {
  return static_cast<Facts>(static_cast<uint16_t>(a) | static_cast<uint16_t>(b));
}
// Whether `all` has one of `some`.
constexpr bool has(Facts all, Facts some) {
  return (static_cast<uint16_t>(all) & static_cast<uint16_t>(some)) != 0;
}

struct Device {
  DeviceId id;             // empty: a mere netdev, without a device below it
  std::string class_code;  // "0x020000"
  std::string vendor;      // "15b3"
  std::string device;
  std::string subsystem_vendor;
  std::string subsystem_device;
  // From the host bridge down to the function itself: "pci0000:16", "0000:16:01.0", "0000:17:00.0". Two
  // functions are as close as their paths are long together.
  std::vector<std::string> pcie_path;
  std::optional<int> numa_node;  // nothing for -1
  std::string acpi_index;
  std::optional<PciAddress> pf;  // of VFs; of sub-functions: the parent
  uint32_t total_vfs = 0;        // PFs only
  uint32_t num_vfs = 0;
  Driver driver;
  // Visible in the host, in the order of dev_port, if that is read, then name. One in a pod is not.
  std::vector<Netdev> netdevs;
  std::vector<RdmaFacts> rdma;  // visible in the host
  // "uverbs4": infiniband_verbs is not tagged with a namespace, infiniband is (ib_setup_device_attrs()), so
  // they stay visible while the RDMA device sits in a pod. As do "umad4" and "issm4".
  std::vector<std::string> verbs_nodes;
  std::vector<std::string> mad_nodes;
  std::string iommu_group;  // "42"; empty for none
  bool vfio_noiommu = false;
  std::string vfio_cdev;  // "vfio3", the device in /dev/vfio/devices; empty: the kernel has none
  std::string uio;        // "uio0"

  // Names the device in locks and records whatever the name of its netdev: "0000:03:02.1", "mlx5_core.sf.4",
  // or "netdev.veth0" for a mere netdev.
  std::string key() const;
  // The RDMA device is on Ethernet (RoCE or iWARP), so there is a netdev, visible or not.
  bool is_on_ethernet() const;
  // Of the first RDMA device whose transport is known. Needs Facts::rdma_ports.
  Transport transport() const;
  // A part that it must have is not in the host: in another namespace, about to return, or being created.
  // Empty: nothing is missing.
  std::string missing_part() const;
  bool misses_rdma() const { return rdma.empty() && !(verbs_nodes.empty() && mad_nodes.empty()); }
  std::vector<std::string> netdev_names() const;
  std::vector<std::string> rdma_names() const;
  std::vector<std::string> rdma_nodes() const;  // of verbs and MAD, sorted
  // How many character devices the RDMA devices have that are visible in the host. While one of them is moved
  // to another namespace the kernel removes them and makes them again, one after another
  // (rdma_dev_change_netns()), so that a read can find fewer.
  size_t visible_rdma_nodes() const;
  bool operator==(const Device&) const = default;
};

// No value where the kernel knows none: -1, or no such file.
Result<std::optional<int>> read_numa_node(const DeviceFolder& folder);
// How many VFs it has now; 0 of what is not a PF.
Result<uint32_t> read_num_vfs(const DeviceFolder& folder);
// Whether the vital product data (the file "vpd") have the word by which NVIDIA's fabric manager finds the
// function that manages NVLink switches (its user guide, "Identifying the NVLink management ports"). Costs
// milliseconds of configuration cycles (pci_vpd_read()), and is for root alone (vpd_attr).
inline constexpr const char* kNvlinkMark = "SW_MNG";
Result<bool> read_nvlink_mark(const DeviceFolder& folder);

// In Mb/s, of the first port. No value while the link is down, when a port states another speed, and where
// nothing says it. Needs Facts::netdevs and Facts::rdma_ports.
std::optional<uint32_t> read_port_speed(const SysRoot& sys, const Device& device);

// No value if there is no such device, or no longer when the last file has been read: files are read one
// after another, and a device that is removed meanwhile leaves half of them empty.
Result<std::optional<Device>> read_device(const SysRoot& sys, const DeviceId& id, Facts wanted);
// Reads more facts of a known device. False: it no longer exists.
Result<bool> read_facts(const SysRoot& sys, Facts wanted, Device& device);

}  // namespace vfrail

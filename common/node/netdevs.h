// The network interfaces of a device, as sysfs shows them in this network namespace. Reads only.
#pragma once

#include "common/node/device_folder.h"
#include "common/node/driver.h"
#include "common/node/sys_root.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vfrail {

struct Netdev {
  IfName name;
  // The kernel's number of the port behind it, which neither a renaming nor a move changes.
  std::optional<uint32_t> dev_port = {};
  // With NetdevFacts::settings:
  MacAddress mac = {};
  uint32_t mtu = 0;
  uint16_t type = 0;           // ARPHRD_*
  std::string operstate = {};  // "up", "down", ...
  bool up = false;             // administratively
  bool carrier = false;

  bool operator==(const Netdev&) const = default;
};

// The entries of the interfaces in the device's folder, each by name: "net/eth7". virtio-net registers its
// own below another device: "virtio2/net/eth7".
Result<std::vector<std::string>> list_netdevs(const DeviceFolder& folder, const Driver& driver);

// What is read of an interface beside its name.
struct NetdevFacts {
  bool dev_port = false;
  bool settings = false;
};
// Sorted by dev_port, if that is read, then by name.
Result<std::vector<Netdev>> read_netdevs(const DeviceFolder& folder, const Driver& driver,
                                         NetdevFacts wanted);

// Which of a PF's interfaces is the port itself: in switchdev mode the PF's folder also holds the
// representors of its VFs and SFs. Empty if there is none.
Result<std::string> choose_uplink(const SysRoot& sys, const std::vector<std::string>& netdevs);

// The interfaces on top of an interface (VLANs, macvlans, its bridge, ...), as sysfs links them: upper_NAME.
Result<std::vector<std::string>> list_uppers(const SysRoot& sys, const std::string& netdev);

// "ether", "infiniband", or empty for an ARPHRD_* type that no selector knows.
std::string link_type_name(uint16_t arphrd);

}  // namespace vfrail

// Data center bridging of an interface: which priorities are lossless, and what decides on a packet's
// priority (IEEE 802.1Qaz, linux/dcbnl.h). A driver without it is "none", never an error.
#pragma once

#include "common/netlink/netlink.h"
#include "common/result.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>

namespace vfrail::plugin {

struct DcbSettings {
  // Bit N: priority flow control pauses the sender of priority N. No value: the driver does not say.
  std::optional<uint8_t> lossless = std::nullopt;
  // Priority -> traffic class, whose packets wait for each other. No value: the driver does not say.
  std::optional<std::array<uint8_t, 8>> traffic_class = std::nullopt;
  // DSCP -> priority. A driver that has entries trusts DSCP, one that has none the VLAN's priority
  // (dcb-app(8), mlx5e_dcbnl_ieee_setapp() of the kernel).
  std::map<uint8_t, uint8_t> dscp = {};

  bool is_lossless(uint8_t priority) const { return lossless && (*lossless >> priority & 1U) != 0; }
};

// Of an interface by its name; no value if its driver has none.
using ReadDcb = std::function<Result<std::optional<DcbSettings>>(const std::string& interface)>;

// By a socket of NETLINK_ROUTE, in the network namespace of the interface. Without any capability.
Result<std::optional<DcbSettings>> read_dcb(NlSocket& socket, const std::string& interface);

// The bytes of the answer, header included. Pure.
DcbSettings parse_dcb(std::span<const std::byte> message);

}  // namespace vfrail::plugin

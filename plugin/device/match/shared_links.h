// The interfaces of shared devices. RDMA over Ethernet has no address, and so no use, while its interface is
// administratively down. Pure.
#pragma once

#include "plugin/device/match/pools.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace vfrail::plugin {

// Whether links of the host can be set up from here.
enum class Reach : uint8_t { host, elsewhere };
inline constexpr const char* kHostOutOfReach =
    "it cannot be brought up from here, which is not the host's network namespace";

// The first interface of each device of a shared pool; a device can be in several.
using SharedLinkVisit = std::function<void(const Pool&, const PoolDevice&, const Netdev&)>;
void each_shared_link(const Pools& pools, const SharedLinkVisit& visit);

// A warning if the interface of a shared device is down; no value if that does not matter. `why`: the reason
// why it stays down, or empty.
std::optional<Warning> describe_down_link(const Pool& pool, const PoolDevice& device, const std::string& why);
// The warnings of describe_down_link() for all shared pools, for a report.
std::vector<Warning> find_links_down(const Pools& pools, Reach reach);

}  // namespace vfrail::plugin

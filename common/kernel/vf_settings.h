// VfSettings: what only the PF's driver can set on a virtual function (ip-link(8) "vf"; IFLA_VF_* of
// if_link.h). Pure values; no I/O.
#pragma once

#include "common/ids.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vfrail {

inline constexpr uint16_t kVlan8021q = 0x8100;   // ETH_P_8021Q
inline constexpr uint16_t kVlan8021ad = 0x88a8;  // ETH_P_8021AD

struct VfVlan {
  uint16_t id = 0;       // 0-4094; 0: none
  uint8_t priority = 0;  // 0-7, 802.1p
  uint16_t protocol = kVlan8021q;
  bool operator==(const VfVlan&) const = default;
};

// Mbit/s; 0: no limit, no guarantee.
struct VfRate {
  uint32_t min = 0;
  uint32_t max = 0;
  bool operator==(const VfRate&) const = default;
};

enum class VfLinkState : uint8_t { automatic, enable, disable };  // IFLA_VF_LINK_STATE_*

// Each setting has a value, or none: in a change, "leave it"; in a state, "the driver does not report it".
struct VfSettings {
  std::optional<MacAddress> mac = std::nullopt;  // the administrator's; all zero: the VF may choose
  std::optional<VfVlan> vlan = std::nullopt;
  std::optional<VfRate> rate = std::nullopt;
  std::optional<bool> spoof_check = std::nullopt;
  std::optional<bool> trust = std::nullopt;
  std::optional<VfLinkState> link_state = std::nullopt;
  std::optional<uint64_t> node_guid = std::nullopt;  // InfiniBand
  std::optional<uint64_t> port_guid = std::nullopt;

  bool empty() const { return *this == VfSettings{}; }
  bool operator==(const VfSettings&) const = default;

  // "vlan 100 qos 3, spoofchk off", in the words of the network configuration.
  std::string text() const;
  // The settings of `wanted` that this state does not have.
  VfSettings missing(const VfSettings& wanted) const;
  // This state's values of the settings that `change` sets.
  VfSettings only(const VfSettings& change) const;
  // This state with the settings that `change` sets.
  VfSettings with(const VfSettings& change) const;
  // identity(): the settings that identify the VF (addresses); policy(): all others.
  VfSettings identity() const { return {.mac = mac, .node_guid = node_guid, .port_guid = port_guid}; }
  VfSettings policy() const { return identity().missing(*this); }
  // A change for each setting that has a value.
  std::vector<VfSettings> each() const;
};

// One of a PF's VFs, as the PF reports it.
struct VfReport {
  uint32_t vf = 0;
  VfSettings settings;
};

// "00:11:22:33:44:55:66:77", as InfiniBand GUIDs are written; parse also takes "0x" and 16 digits.
std::string format_guid(uint64_t guid);
std::optional<uint64_t> parse_guid(std::string_view text);
const char* link_state_name(VfLinkState state);  // "auto", "enable", "disable"

}  // namespace vfrail

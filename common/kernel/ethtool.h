// What ethtool(8) shows and sets of a link, group by group, as plain values: names and numbers of
// ethtool_netlink.h. Pure; Kernel reads and sets them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vfrail {

// In the order in which they are set: the number of channels limits the others, and a driver that creates its
// rings again resets their other settings.
enum class EthtoolGroup : uint8_t {
  channels,
  rings,
  private_flags,
  features,
  coalesce,
  pause,
  wake_on_lan,
  debug,
};

inline constexpr std::array kEthtoolGroups{
    EthtoolGroup::channels, EthtoolGroup::rings, EthtoolGroup::private_flags, EthtoolGroup::features,
    EthtoolGroup::coalesce, EthtoolGroup::pause, EthtoolGroup::wake_on_lan,   EthtoolGroup::debug};

const char* group_name(EthtoolGroup group);  // "rings"
std::optional<EthtoolGroup> parse_group(std::string_view name);
// The names of a group's numbers.
std::vector<std::string> number_names(EthtoolGroup group);

struct EthtoolSettings {
  std::map<std::string, uint32_t> numbers = {};  // "rx" -> 256
  // Of the groups that are bits (features, private flags, wake-on-LAN, debug): 32 in each word, the lowest
  // first. The meaning of a bit depends on the kernel and the driver, so they mean nothing after a boot.
  std::vector<uint32_t> bits = {};
  std::vector<uint32_t> mask = {};  // of a change only: the bits that it is about
  uint32_t bit_count = 0;
  std::map<std::string, bool> named_bits = {};  // of a change only: bits by the kernel's names, "rx-gro"

  // What to set so that `now` becomes this: only what differs. Empty if they are the same.
  std::optional<EthtoolSettings> change_from(const EthtoolSettings& now) const;
  // The names whose values differ in `now`, with both values: "rx is 512, was 256".
  std::string difference_to(const EthtoolSettings& now) const;
  bool operator==(const EthtoolSettings&) const = default;
};

}  // namespace vfrail

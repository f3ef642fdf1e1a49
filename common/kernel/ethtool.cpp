#include "common/kernel/ethtool.h"

namespace vfrail {

namespace {

constexpr std::array<const char*, kEthtoolGroups.size()> kNames{
    "channels", "rings", "privateFlags", "features", "coalesce", "pause", "wakeOnLan", "debug"};

// The bits that two sets have differently.
std::vector<uint32_t> differing(const std::vector<uint32_t>& one, const std::vector<uint32_t>& other) {
  std::vector<uint32_t> out(one.size());
  for (size_t i = 0; i < one.size(); ++i) out[i] = one[i] ^ (i < other.size() ? other[i] : 0);
  return out;
}

}  // namespace

const char* group_name(EthtoolGroup group) { return kNames[static_cast<size_t>(group)]; }

std::optional<EthtoolGroup> parse_group(std::string_view name) {
  for (const EthtoolGroup group : kEthtoolGroups) {
    if (name == group_name(group)) return group;
  }
  return std::nullopt;
}

std::optional<EthtoolSettings> EthtoolSettings::change_from(const EthtoolSettings& now) const {
  EthtoolSettings out;
  for (const auto& [name, value] : numbers) {
    const auto at = now.numbers.find(name);
    if (at == now.numbers.end() || at->second != value) out.numbers[name] = value;
  }
  if (bits != now.bits) {
    out.mask = differing(bits, now.bits);
    out.bits = bits;
    for (size_t i = 0; i < bits.size(); ++i) out.bits[i] &= out.mask[i];
    out.bit_count = bit_count;
  }
  return out.numbers.empty() && out.mask.empty() ? std::nullopt : std::optional(std::move(out));
}

std::string EthtoolSettings::difference_to(const EthtoolSettings& now) const {
  std::string out;
  const auto add = [&out](const std::string& text) { out += (out.empty() ? "" : ", ") + text; };
  for (const auto& [name, value] : numbers) {
    const auto at = now.numbers.find(name);
    if (at != now.numbers.end() && at->second == value) continue;
    add(name + " is " + (at == now.numbers.end() ? "not shown" : std::to_string(at->second)) + ", was " +
        std::to_string(value));
  }
  const auto bits_that_differ = differing(bits, now.bits);
  for (size_t i = 0; i < bits_that_differ.size(); ++i) {
    for (size_t bit = 0; bit < 32; ++bit) {
      if ((bits_that_differ[i] >> bit & 1U) == 0) continue;
      const bool was = (bits[i] >> bit & 1U) != 0;
      add("bit " + std::to_string(i * 32 + bit) + " is " + (was ? "off, was on" : "on, was off"));
    }
  }
  return out;
}

}  // namespace vfrail

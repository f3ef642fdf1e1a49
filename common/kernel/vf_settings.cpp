#include "common/kernel/vf_settings.h"

#include "common/text.h"

#include <charconv>

namespace vfrail {

namespace {

std::string vlan_text(const VfVlan& vlan) {
  std::string out = "vlan " + std::to_string(vlan.id);
  if (vlan.priority != 0) out += " qos " + std::to_string(vlan.priority);
  if (vlan.protocol == kVlan8021ad) out += " 802.1ad";
  return out;
}

std::string rate_text(const VfRate& rate) {
  return "min_tx_rate " + std::to_string(rate.min) + " max_tx_rate " + std::to_string(rate.max);
}

// Calls `visit` with each setting of two of them: the one place that lists the members.
template <class A, class B, class Visit>
void for_each_pair(A& a, B& b, const Visit& visit) {
  visit(a.mac, b.mac);
  visit(a.vlan, b.vlan);
  visit(a.rate, b.rate);
  visit(a.spoof_check, b.spoof_check);
  visit(a.trust, b.trust);
  visit(a.link_state, b.link_state);
  visit(a.node_guid, b.node_guid);
  visit(a.port_guid, b.port_guid);
}

}  // namespace

std::string VfSettings::text() const {
  std::vector<std::string> out;
  if (mac) out.push_back("mac " + mac->text());
  if (vlan) out.push_back(vlan_text(*vlan));
  if (rate) out.push_back(rate_text(*rate));
  if (spoof_check) out.push_back(std::string("spoofchk ") + (*spoof_check ? "on" : "off"));
  if (trust) out.push_back(std::string("trust ") + (*trust ? "on" : "off"));
  if (link_state) out.push_back(std::string("link_state ") + link_state_name(*link_state));
  if (node_guid) out.push_back("node GUID " + format_guid(*node_guid));
  if (port_guid) out.push_back("port GUID " + format_guid(*port_guid));
  return joined(out);
}

VfSettings VfSettings::missing(const VfSettings& wanted) const {
  VfSettings out = wanted;
  for_each_pair(out, *this, [](auto& want, const auto& have) {
    if (want == have) want.reset();
  });
  return out;
}

VfSettings VfSettings::only(const VfSettings& change) const {
  VfSettings out = *this;
  for_each_pair(out, change, [](auto& have, const auto& changed) {
    if (!changed) have.reset();
  });
  return out;
}

VfSettings VfSettings::with(const VfSettings& change) const {
  VfSettings out = *this;
  for_each_pair(out, change, [](auto& have, const auto& changed) {
    if (changed) have = changed;
  });
  return out;
}

std::vector<VfSettings> VfSettings::each() const {
  std::vector<VfSettings> out;
  VfSettings one;
  for_each_pair(one, *this, [&](auto& member, const auto& value) {
    if (!value) return;
    member = value;
    out.push_back(one);
    member.reset();
  });
  return out;
}

const char* link_state_name(VfLinkState state) {
  switch (state) {
    case VfLinkState::automatic:
      return "auto";
    case VfLinkState::enable:
      return "enable";
    case VfLinkState::disable:
      return "disable";
  }
  return "?";
}

std::string format_guid(uint64_t guid) {
  MacAddress bytes;
  for (int shift = 56; shift >= 0; shift -= 8) bytes.bytes.push_back(static_cast<uint8_t>(guid >> shift));
  return bytes.text();
}

std::optional<uint64_t> parse_guid(std::string_view text) {
  std::string digits;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    digits = text.substr(2);
  } else if (text.size() == 23) {
    for (size_t i = 0; i < text.size(); ++i) {
      if (i % 3 == 2 && text[i] != ':' && text[i] != '-') return std::nullopt;
      if (i % 3 != 2) digits += text[i];
    }
  } else {
    digits = text;
  }
  uint64_t out = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, out, 16);
  if (digits.size() != 16 || error != std::errc() || stop != end) return std::nullopt;
  return out;
}

}  // namespace vfrail

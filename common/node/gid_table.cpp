#include "common/node/gid_table.h"

#include "common/text.h"

#include <algorithm>
#include <array>
#include <vector>

namespace vfrail {

namespace {

constexpr const char* kRoceV2 = "RoCE v2";

// ::ffff:10.0.0.2 for an IPv4 address (ipv6_addr_set_v4mapped()).
std::vector<uint8_t> gid_of(const IpAddress& address) {
  if (address.v6()) return address.bytes;
  std::vector<uint8_t> out(10, 0);
  out.insert(out.end(), {0xff, 0xff});
  out.insert(out.end(), address.bytes.begin(), address.bytes.end());
  return out;
}

std::string text_of_gid(const std::vector<uint8_t>& gid) {
  const IpAddress address{gid};
  return ipv4_of(address).value_or(address).text();
}

// No value at the end of the table. An entry that is not in use is all zero.
Result<std::optional<std::vector<uint8_t>>> read_gid(const SysRoot& port, uint32_t index) {
  const std::string file = "gids/" + std::to_string(index);
  const auto text = TRY(port.text(file));
  if (!text) return std::optional<std::vector<uint8_t>>();
  auto address = IpAddress::parse(*text);
  if (!address || !address->v6())
    return Error{Errc::protocol, 0, port.path(file) + " is not a GID: " + text->substr(0, 80)};
  return std::optional(std::move(address->bytes));
}

bool in_use(const std::vector<uint8_t>& gid) {
  return std::any_of(gid.begin(), gid.end(), [](uint8_t byte) { return byte != 0; });
}

// "RoCE v2"; empty if the entry is not in use any more.
Result<std::string> attribute(const SysRoot& port, const char* name, uint32_t index) {
  return TRY(port.text(std::string("gid_attrs/") + name + "/" + std::to_string(index))).value_or("");
}

Result<std::string> describe_entry(const SysRoot& port, uint32_t index, const std::vector<uint8_t>& gid) {
  if (!in_use(gid)) return std::string();
  return text_of_gid(gid) + " of " + TRY(attribute(port, "ndevs", index)) + " (" +
         TRY(attribute(port, "types", index)) + ")";
}

int roce_version_of(const std::string& type) {
  if (type == kRoceV2) return 2;
  return type == "IB/RoCE v1" || type == "RoCE v1" ? 1 : 0;
}

}  // namespace

bool is_link_local(const IpAddress& gid) {
  return gid.v6() && gid.bytes[0] == 0xfe && gid.bytes[1] == 0x80 &&
         std::all_of(gid.bytes.begin() + 2, gid.bytes.begin() + 8, [](uint8_t byte) { return byte == 0; });
}

std::optional<IpAddress> ipv4_of(const IpAddress& gid) {
  constexpr std::array<uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (!gid.v6() || !std::equal(kMapped.begin(), kMapped.end(), gid.bytes.begin())) return std::nullopt;
  return IpAddress{{gid.bytes.begin() + 12, gid.bytes.end()}, 32};
}

std::optional<IpAddress> first_for_gid(const std::vector<IpAddress>& addresses) {
  const auto v4 =
      std::find_if(addresses.begin(), addresses.end(), [](const IpAddress& one) { return !one.v6(); });
  if (v4 != addresses.end()) return *v4;
  return addresses.empty() ? std::nullopt : std::optional(addresses.front());
}

Result<std::vector<Gid>> read_gids(const SysRoot& port) {
  std::vector<Gid> out;
  for (const std::string& name : TRY(port.list("gids")).value_or(SysRoot::Names())) {
    const auto index = parse_decimal(name);
    const auto gid = index ? TRY(read_gid(port, *index)) : std::nullopt;
    if (!gid || !in_use(*gid)) continue;
    Gid one{*index, IpAddress{*gid}, 0, {}};
    one.roce_version = roce_version_of(TRY(attribute(port, "types", *index)));
    one.netdev = TRY(attribute(port, "ndevs", *index));
    out.push_back(std::move(one));
  }
  std::sort(out.begin(), out.end(), [](const Gid& a, const Gid& b) { return a.index < b.index; });
  return out;
}

Result<GidSearch> find_gid(const SysRoot& port, const WantedGid& wanted, uint32_t entries) {
  GidSearch out;
  const auto gid = gid_of(wanted.address);
  std::vector<std::vector<uint8_t>> table;
  while (table.size() < entries) {
    const auto index = static_cast<uint32_t>(table.size());
    auto entry = TRY(read_gid(port, index));
    if (!entry) return out;
    out.has_table = true;
    if (index == 0 && in_use(*entry) && !is_link_local(IpAddress{*entry})) {
      out.of_addresses = false;
      return out;
    }
    table.push_back(std::move(*entry));
    if (table.back() != gid) continue;
    if (TRY(attribute(port, "types", index)) != kRoceV2) continue;
    if (TRY(attribute(port, "ndevs", index)) != wanted.netdev) continue;
    // Default GIDs are equal, one for each type.
    const auto other =
        std::find_if(table.begin(), table.end(), [&](const auto& one) { return one != table.front(); });
    const auto types = static_cast<uint32_t>(other - table.begin());
    GidPlace place{.index = index, .expected = 2 * types - 1};
    if (place.index > place.expected)
      place.in_the_way = TRY(describe_entry(port, place.expected, table[place.expected]));
    out.place = std::move(place);
    return out;
  }
  return out;
}

}  // namespace vfrail

#include "cni/in_pod/facts/nccl_choice.h"

#include "common/text.h"

#include <algorithm>
#include <cstdlib>

namespace vfrail::pod {

namespace {

constexpr size_t kMaxNcclDevices = 32;  // MAX_IB_DEVS

struct NcclSearch {
  bool v4 = true;
  std::optional<IpAddress> range;
  int roce_version = 2;
};

NcclSearch wanted_gid(const NcclSettings& settings) {
  NcclSearch out;
  out.v4 = settings.text("NCCL_IB_ADDR_FAMILY") != "AF_INET6";
  out.range = IpAddress::parse_cidr(settings.text("NCCL_IB_ADDR_RANGE"));
  if (out.range && out.range->v6() == out.v4) out.range.reset();  // of the other family: ignored
  out.roce_version = static_cast<int>(settings.number("NCCL_IB_ROCE_VERSION_NUM", 2));
  return out;
}

bool in_range(const IpAddress& gid, const NcclSearch& wanted) {
  if (!wanted.range) return true;
  const auto v4 = ipv4_of(gid);
  return share_subnet({v4 ? v4->bytes : gid.bytes, wanted.range->prefix}, *wanted.range);
}

// The first match, then a better version: a port's table has each address once for each version.
bool is_better(const Gid& candidate, const Gid* chosen, const NcclSearch& wanted) {
  const bool v4 = ipv4_of(candidate.address).has_value();
  if (v4 != wanted.v4 || !in_range(candidate.address, wanted)) return false;
  const bool chosen_v4 = chosen != nullptr && ipv4_of(chosen->address).has_value();
  if (v4 != chosen_v4) return true;
  if (is_link_local(candidate.address)) return false;
  const bool chosen_valid = chosen != nullptr && !is_link_local(chosen->address);
  const int chosen_version = chosen == nullptr ? 0 : chosen->roce_version;
  return candidate.roce_version == wanted.roce_version &&
         (candidate.roce_version != chosen_version || !chosen_valid);
}

// getifaddrs() lists the IPv4 addresses of all interfaces by index, then those of IPv6.
std::optional<std::string> first_interface(const PodNetwork& network, const NcclNames& names,
                                           const std::string& family) {
  for (const bool v6 : {false, true}) {
    if (family == (v6 ? "AF_INET" : "AF_INET6")) continue;
    for (const PodLink& link : network.links) {
      const bool has_address = std::any_of(
          link.addresses.begin(), link.addresses.end(),
          [&](const IpAddress& address) { return address.v6() == v6 && address.text() != "::1"; });
      if (has_address && names.takes(link.name)) return link.name;
    }
  }
  return std::nullopt;
}

}  // namespace

NcclNames::NcclNames(const std::string& list) {
  size_t begin = 0;
  excludes_ = list.starts_with('^');
  begin += excludes_ ? 1 : 0;
  exact_ = list.substr(begin).starts_with('=');
  begin += exact_ ? 1 : 0;
  for (const std::string& word : split(list.substr(begin), ",")) {
    const size_t colon = word.find(':');
    Entry entry{word.substr(0, colon), 0};
    if (colon != std::string::npos)
      entry.port = static_cast<uint32_t>(std::strtoul(word.c_str() + colon + 1, nullptr, 10));
    entries_.push_back(std::move(entry));
  }
}

bool NcclNames::takes(const std::string& name, uint32_t port) const {
  const bool listed =
      entries_.empty() || std::any_of(entries_.begin(), entries_.end(), [&](const Entry& one) {
        const bool same = exact_ ? name == one.name : name.starts_with(one.name);
        return same && (one.port == 0 || port == 0 || one.port == port);
      });
  return listed != excludes_;
}

uint32_t choose_gid_index(const RailPort& port, const NcclSettings& settings) {
  const int64_t fixed = settings.number("NCCL_IB_GID_INDEX", -1);
  if (fixed >= 0) return static_cast<uint32_t>(fixed);
  const NcclSearch wanted = wanted_gid(settings);
  uint32_t out = 0;
  for (const Gid& candidate : port.gids) {
    if (candidate.index > 0 && is_better(candidate, port.find(out), wanted)) out = candidate.index;
  }
  return out;
}

std::vector<NcclRail> choose_rails(const std::vector<Rail>& rails, const NcclSettings& settings) {
  const NcclNames names(settings.text("NCCL_IB_HCA"));
  std::vector<NcclRail> out;
  for (const Rail& rail : rails) {
    for (const RailPort& port : rail.ports) {
      // ncclIbInit() leaves out a link layer that is neither, as EFA's.
      const bool known = port.is_ethernet() || port.link_layer == "InfiniBand";
      const bool taken = known && rail.has_node && port.is_active() && names.takes(rail.name, port.number);
      if (!taken || out.size() == kMaxNcclDevices) continue;
      out.push_back({rail, port, port.is_ethernet() ? choose_gid_index(port, settings) : 0});
    }
  }
  return out;
}

std::optional<std::string> choose_socket_interface(const PodNetwork& network, const NcclSettings& settings) {
  const std::string family = settings.text("NCCL_SOCKET_FAMILY");
  const std::string set = settings.text("NCCL_SOCKET_IFNAME");
  if (set.size() > 1) return first_interface(network, NcclNames(set), family);
  for (const char* list : {"ib", "^docker,lo,virbr", "docker", "lo", "virbr"}) {
    if (auto found = first_interface(network, NcclNames(list), family)) return found;
  }
  return std::nullopt;
}

std::string expected_line(const std::vector<NcclRail>& rails) {
  if (rails.empty()) return "NET/IB : No device found.";
  std::string out = "NET/IB : Using";
  for (size_t i = 0; i < rails.size(); ++i)
    out += " [" + std::to_string(i) + "]" + rails[i].name() + (rails[i].port.is_ethernet() ? "/RoCE" : "/IB");
  return out;
}

}  // namespace vfrail::pod

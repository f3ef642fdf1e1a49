// Target: what the kernel answers, one netlink message an input. The kernel is trusted, but what it says was
// named by others (interface names, aliases), and a new kernel may say what this version has never seen.
#include "cni/node/upper_search.h"
#include "common/netlink/ethtool_messages.h"
#include "common/netlink/parse.h"
#include "tests/fuzz/checks.h"

#include <algorithm>

using namespace vfrail;
using namespace vfrail::cni;
using namespace vfrail::fuzz;

namespace {

constexpr size_t kMaxLinkAddress = 32;  // MAX_ADDR_LEN

bool has_no_zero(std::string_view text) { return text.find('\0') == std::string_view::npos; }

// The sentences are constants; the code is what callers go by.
void check_refusal(const Error& error) { MUST(error.code == Errc::protocol && !error.text.empty()); }

void check_link(NlBytes message) {
  const auto link = parse_link(message);
  if (!link) return check_refusal(link.error());
  // It becomes part of paths below /sys/class/net and of the device's key.
  MUST(is_file_name(link->name) && IfName::parse(link->name));
  MUST(link->mac.bytes.size() <= kMaxLinkAddress && link->permanent_mac.bytes.size() <= kMaxLinkAddress);
  MUST(link->broadcast.bytes.size() <= kMaxLinkAddress);
  MUST(link->phys_switch_id.size() <= 2 * message.size());
  size_t total = 0;
  for (const std::string& name : link->altnames) {
    MUST(has_no_zero(name));
    total += name.size();
  }
  MUST(total <= message.size() && link->altnames.size() <= message.size());
  for (const std::string* text : {&link->alias, &link->kind, &link->parent_bus, &link->parent_device})
    MUST(has_no_zero(*text) && text->size() <= message.size());
  MUST(*parse_link(message) == *link);
  // The quick search must not miss one that the thorough one would find.
  if (link->lower != 0 && link->lower_nsid) MUST(can_stand_on(message, link->lower));
}

void check_vf_settings(NlBytes message) {
  const auto found = parse_vfs(message);
  if (!found) return check_refusal(found.error());
  for (const auto& [vf, settings] : *found) {
    MUST(!settings.mac || settings.mac->bytes.size() == 6 || settings.mac->bytes.size() == 20);
    MUST(settings.missing(settings).empty() && settings.only(settings) == settings);
    MUST(settings.text().size() < 1000);
  }
}

void check_address(NlBytes message) {
  int index = -1;
  const auto address = parse_address(message, index);
  if (!address) return check_refusal(address.error());
  MUST(is_sound(address->address));
  MUST(IpAddress::parse_cidr(address->address.cidr()) == address->address);
}

void check_next_hop(NlBytes message) {
  const auto hop = parse_next_hop(message);
  if (!hop) return check_refusal(hop.error());
  MUST(hop->group.size() <= message.size());
  Route route;
  route.next_hop = hop->id;
  const auto over = over_links({route}, {*hop});
  if (over) MUST(over->size() == std::max<size_t>(hop->group.size(), 1));
}

void check_routes(NlBytes message) {
  std::vector<Route> routes;
  const auto parsed = parse_route(message, routes);
  if (!parsed) {
    MUST(routes.empty());
    return check_refusal(parsed.error());
  }
  MUST(routes.size() <= message.size());
  for (const Route& route : routes) {
    MUST(is_sound(route.destination));
    MUST(IpAddress::parse_cidr(route.destination.cidr()) == route.destination);
    if (route.gateway) MUST(is_sound(*route.gateway));
    if (route.source) MUST(is_sound(*route.source) && route.source->v6() == route.destination.v6());
  }
}

void check_rdma(NlBytes message) {
  const auto device = parse_rdma_device(message);
  if (!device) check_refusal(device.error());
  // sysfs has a folder of that name.
  if (device) MUST(!device->name.empty());
  if (device && device->has_sound_name()) MUST(is_file_name(device->name.text().substr(0, 255)));
  const auto counters = parse_rdma_counters(message);
  if (!counters) check_refusal(counters.error());
  if (counters) {
    for (const NamedCounter& one : *counters) MUST(!one.name.empty());
  }
  for (const EthtoolGroup group : kEthtoolGroups) {
    const auto settings = parse_ethtool(message, group);
    if (settings) MUST(!settings->change_from(*settings));
  }
  (void)parse_ethtool_family(message);
  const auto mode = parse_rdma_netns_mode(message);
  if (!mode) check_refusal(mode.error());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const NlBytes message(reinterpret_cast<const std::byte*>(data), size);
  check_link(message);
  check_vf_settings(message);
  check_address(message);
  check_next_hop(message);
  check_routes(message);
  check_rdma(message);
  return 0;
}

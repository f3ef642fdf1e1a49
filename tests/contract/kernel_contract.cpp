#include "tests/support/kernel_contract.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include <catch2/catch.hpp>

namespace vfrail::test {

namespace {

// A change that must succeed, for setting a scene and for going back.
void change(Kernel& kernel, int index, const LinkChange& what) {
  const auto result = kernel.change_link(index, what);
  INFO((result ? std::string() : result.error().text));
  REQUIRE(result);
}

Link link_in(Kernel& kernel, std::string_view name) {
  const auto found = kernel.find_link(name);
  REQUIRE(found);
  REQUIRE(found->has_value());
  return **found;
}

bool has(Kernel& kernel, std::string_view name) {
  const auto found = kernel.find_link(name);
  REQUIRE(found);
  return found->has_value();
}

int errno_of(const Result<>& result) { return result ? 0 : result.error().sys; }

IpAddress cidr(const char* text) { return *IpAddress::parse_cidr(text); }

void check_lookup(ContractBench& bench, const Link& before) {
  CHECK_FALSE(has(bench.host, "nosuchlink"));
  const auto by_index = bench.host.find_link(before.index);
  REQUIRE(by_index);
  CHECK(*by_index == std::optional<Link>(before));
  REQUIRE(bench.host.add_altname(before.index, "contract-alt"));
  CHECK(link_in(bench.host, "contract-alt").index == before.index);
  CHECK(errno_of(bench.host.add_altname(before.index, "contract-alt")) == EEXIST);
  CHECK(errno_of(bench.host.add_altname(before.index, "lo")) == EEXIST);
  REQUIRE(bench.host.remove_altname(before.index, "contract-alt"));
  CHECK(errno_of(bench.host.remove_altname(before.index, "contract-alt")) == ENOENT);
  CHECK(errno_of(bench.host.remove_altname(before.index, before.name)) == EINVAL);
  CHECK(errno_of(bench.host.change_link(999'999, {.up = true})) == ENODEV);
}

// As many alternative names as a link can have (rtnl_alt_ifname()), with which its message is longer than 64
// KiB. With 480 it fills the socket (SO_RCVBUF), which then takes no second one.
void check_many_names(ContractBench& bench, const Link& before) {
  std::vector<std::string> names;
  for (int i = 1000; i < 1495; ++i) {
    names.push_back(std::to_string(i) + std::string(123, 'x'));
    REQUIRE(bench.host.add_altname(before.index, names.back()));
    if (names.size() != 480 && names.size() != 495) continue;
    CHECK(link_in(bench.host, before.name).altnames == names);
    CHECK(link_in(bench.host, names.back()).index == before.index);
    const auto links = bench.host.links();
    REQUIRE(links);
    CHECK(std::count_if(links->begin(), links->end(),
                        [&](const Link& one) { return one.index == before.index; }) == 1);
  }
  for (const std::string& name : names) REQUIRE(bench.host.remove_altname(before.index, name));
}

// Each namespace has its own devices in it.
void check_sysfs(ContractBench& bench, const std::string& name_in_host) {
  const auto host = bench.host.sysfs();
  const auto pod = bench.pod.sysfs();
  REQUIRE(host);
  REQUIRE(pod);
  if (!*host || !*pod) return;  // before Linux 5.2
  const auto shows = [](const std::string& sysfs, const std::string& link) {
    return std::filesystem::exists(sysfs + "/class/net/" + link);
  };
  CHECK(shows(**pod, "net1"));
  CHECK_FALSE(shows(**host, "net1"));
  CHECK_FALSE(shows(**pod, name_in_host));
  CHECK(shows(**host, "lo"));
}

void check_move(ContractBench& bench, const Link& before) {
  REQUIRE(bench.host.add_altname(before.index, "contract-alternative-name"));
  REQUIRE(bench.host.add_address(before.index, cidr("192.0.2.1/24")));
  change(bench.host, before.index,
         {.netns_fd = bench.pod.netns_fd(), .name = "net1", .mtu = 1400, .up = true, .eui64 = true});
  CHECK_FALSE(has(bench.host, before.name));
  const Link moved = link_in(bench.pod, "net1");
  check_sysfs(bench, before.name);
  CHECK(moved.mtu == 1400);
  CHECK(moved.up());
  CHECK(moved.mac == before.mac);
  CHECK(moved.tx_queue_len == before.tx_queue_len);
  CHECK(moved.parent_device == before.parent_device);
  CHECK(moved.altnames == std::vector<std::string>{"contract-alternative-name"});
  const auto addresses = bench.pod.addresses(moved.index);
  REQUIRE(addresses);
  CHECK(std::none_of(addresses->begin(), addresses->end(),
                     [](const auto& one) { return one.address == cidr("192.0.2.1/24"); }));
  change(bench.pod, moved.index,
         {.netns_fd = bench.host.netns_fd(), .name = before.name, .mtu = before.mtu, .up = false});
  REQUIRE(bench.host.remove_altname(link_in(bench.host, before.name).index, "contract-alternative-name"));
}

void check_names(ContractBench& bench, const Link& before) {
  const int pod_fd = bench.pod.netns_fd();
  const int host_fd = bench.host.netns_fd();
  {
    INFO(
        "the wanted name is taken in the target: the link has moved under its old name when the error comes");
    CHECK(errno_of(bench.host.change_link(before.index, {.netns_fd = pod_fd, .name = "lo"})) == EEXIST);
    CHECK_FALSE(has(bench.host, before.name));
    change(bench.pod, link_in(bench.pod, before.name).index, {.netns_fd = host_fd});
  }
  bench.add_to_pod(before.name);
  {
    INFO("its own name is taken in the target and no other is wanted: it stays");
    CHECK(errno_of(bench.host.change_link(link_in(bench.host, before.name).index, {.netns_fd = pod_fd})) ==
          EEXIST);
    CHECK(has(bench.host, before.name));
  }
  {
    INFO("its own name is taken in the target and another is wanted: it moves");
    change(bench.host, link_in(bench.host, before.name).index, {.netns_fd = pod_fd, .name = "net2"});
    change(bench.pod, link_in(bench.pod, "net2").index, {.netns_fd = host_fd, .name = before.name});
  }
  {
    // Which number is left open: after a collision the kernel applies the pattern twice and arrives at dev1.
    INFO("a pattern is filled with a free number");
    change(bench.host, link_in(bench.host, before.name).index, {.netns_fd = pod_fd, .name = "dev%d"});
    const auto links = bench.pod.links();
    REQUIRE(links);
    const auto found = std::find_if(links->begin(), links->end(),
                                    [](const Link& link) { return link.name.text().starts_with("dev"); });
    REQUIRE(found != links->end());
    change(bench.pod, found->index, {.netns_fd = host_fd, .name = before.name});
  }
  {
    INFO("its own alternative name is a taken name, too");
    const int index = link_in(bench.host, before.name).index;
    REQUIRE(bench.host.add_altname(index, "net3"));
    CHECK(errno_of(bench.host.change_link(index, {.name = "net3"})) == EEXIST);
    REQUIRE(bench.host.remove_altname(index, "net3"));
  }
}

void check_rename(ContractBench& bench, const Link& before) {
  const auto name = [](const std::string& text) { return *IfName::parse(text); };
  change(bench.host, before.index, {.up = false});
  CHECK(errno_of(bench.host.rename_link(name("nosuchlink"), "other")) == ENODEV);
  CHECK(errno_of(bench.host.rename_link(before.name, "lo")) == EEXIST);
  REQUIRE(bench.host.rename_link(before.name, "dev%d"));
  CHECK_FALSE(has(bench.host, before.name.text()));
  const auto renamed = bench.host.find_link(before.index);
  REQUIRE(renamed);
  REQUIRE(renamed->has_value());
  CHECK((*renamed)->name.text().starts_with("dev"));
  REQUIRE(bench.host.rename_link((*renamed)->name, before.name.text()));
  {
    INFO("an alternative name finds it, too");
    REQUIRE(bench.host.add_altname(before.index, "contract-alt"));
    REQUIRE(bench.host.rename_link(name("contract-alt"), "renamed"));
    REQUIRE(bench.host.rename_link(name("renamed"), before.name.text()));
    REQUIRE(bench.host.remove_altname(before.index, "contract-alt"));
  }
  {
    INFO("of two with the same name, that in its own namespace: check_names() has made one in the pod");
    REQUIRE(bench.pod.rename_link(before.name, "renamed"));
    CHECK(has(bench.pod, "renamed"));
    CHECK(link_in(bench.host, before.name).index == before.index);
  }
  change(bench.host, before.index, {.up = before.up()});
}

void check_addresses(ContractBench& bench, const Link& before) {
  change(bench.host, before.index, {.netns_fd = bench.pod.netns_fd(), .name = "net1", .up = true});
  const int index = link_in(bench.pod, "net1").index;
  REQUIRE(bench.pod.add_address(index, cidr("192.0.2.1/24")));
  CHECK(errno_of(bench.pod.add_address(index, cidr("192.0.2.1/24"))) == EEXIST);
  Route route;
  route.destination = cidr("198.51.100.0/24");
  route.gateway = *IpAddress::parse("192.0.2.254");
  route.link = index;
  route.mtu = 1300;
  REQUIRE(bench.pod.add_route(route));
  const auto routes = bench.pod.routes(index);
  REQUIRE(routes);
  const auto found = std::find_if(routes->begin(), routes->end(),
                                  [&](const Route& one) { return one.destination == route.destination; });
  REQUIRE(found != routes->end());
  CHECK(found->gateway == route.gateway);
  CHECK(found->mtu == route.mtu);
  Route fallback = route;
  fallback.destination = cidr("0.0.0.0/0");
  REQUIRE(bench.pod.add_route(fallback));
  const auto defaults = bench.pod.default_routes();
  REQUIRE(defaults);
  REQUIRE(defaults->size() == 1);
  CHECK(defaults->front().gateway == route.gateway);
  CHECK(defaults->front().link == index);
  change(bench.pod, index, {.up = false});
  route.destination = cidr("203.0.113.0/24");
  CHECK_FALSE(bench.pod.add_route(route));
  change(bench.pod, index, {.netns_fd = bench.host.netns_fd(), .name = before.name});
}

// A macvlan is created up in the other namespace, where its name has to be free, and removed from it.
void check_children(ContractBench& bench, const Link& before) {
  change(bench.host, before.index, {.up = true});
  const NewLink wanted{.name = *IfName::parse("child0"),
                       .kind = "macvlan",
                       .lower = before.index,
                       .netns_fd = bench.pod.netns_fd(),
                       .mac = *MacAddress::parse("02:00:00:00:00:77"),
                       .mode = 4};  // MACVLAN_MODE_BRIDGE
  const auto added = bench.host.add_link(wanted);
  // Not every kernel that the tests run on has the module.
  if (errno_of(added) != EOPNOTSUPP) {
    REQUIRE(added);
    const Link child = link_in(bench.pod, "child0");
    CHECK(child.kind == "macvlan");
    CHECK(child.up());
    CHECK(child.lower == before.index);
    CHECK(child.mac == *wanted.mac);
    CHECK_FALSE(has(bench.host, "child0"));
    CHECK(errno_of(bench.host.add_link(wanted)) == EEXIST);
    REQUIRE(bench.pod.remove_links({child.index}));
    CHECK_FALSE(has(bench.pod, "child0"));
  }
  NewLink nowhere = wanted;
  nowhere.lower = 999'999;
  CHECK(errno_of(bench.host.add_link(nowhere)) == ENODEV);
  change(bench.host, before.index, {.up = before.up()});
}

UpperLinks upper_links(ContractBench& bench, int index) {
  const auto found = bench.host.upper_links(index, *bench.uppers);
  INFO((found ? std::string() : found.error().text));
  REQUIRE(found);
  return *found;
}

// In another namespace, too, and more than are listed.
void check_uppers(ContractBench& bench, const Link& before) {
  CHECK(upper_links(bench, before.index) == UpperLinks{});
  const auto none = bench.host.upper_links(999'999, *bench.uppers);
  REQUIRE_FALSE(none);
  CHECK(none.error().code == Errc::not_found);
  NewLink wanted{.name = *IfName::parse("upper0"),
                 .kind = "macvlan",
                 .lower = before.index,
                 .netns_fd = bench.pod.netns_fd(),
                 .mode = 4};
  REQUIRE(bench.host.add_link(wanted));
  std::vector<int> uppers{link_in(bench.pod, "upper0").index};
  const uint64_t pod = bench.pod.netns_id().inode;
  CHECK(upper_links(bench, before.index) == UpperLinks{{{uppers[0], pod}}, false});
  for (size_t i = 1; i <= UpperLinks::kMost; ++i) {
    wanted.name = *IfName::parse("upper" + std::to_string(i));
    REQUIRE(bench.host.add_link(wanted));
    uppers.push_back(link_in(bench.pod, wanted.name).index);
    CHECK(upper_links(bench, before.index).links.size() == std::min(i + 1, UpperLinks::kMost));
    CHECK(upper_links(bench, before.index).more == (i == UpperLinks::kMost));
  }
  REQUIRE(bench.pod.remove_links(uppers));
  CHECK(upper_links(bench, before.index) == UpperLinks{});
}

// A program survives the move, so each return to the host must detach it.
void check_programs(ContractBench& bench, const Link& before) {
  using Programs = std::vector<std::string>;
  const auto detached = [](Kernel& kernel, const std::string& name) {
    const auto out = kernel.detach_programs(link_in(kernel, name));
    INFO((out ? std::string() : out.error().text));
    REQUIRE(out);
    return *out;
  };
  CHECK(detached(bench.host, before.name) == Programs{});
  bench.attach_xdp(before.name);
  change(bench.host, before.index, {.netns_fd = bench.pod.netns_fd(), .name = "net1"});
  CHECK(detached(bench.pod, "net1") == Programs{"XDP program (generic)"});
  CHECK(detached(bench.pod, "net1") == Programs{});
  change(bench.pod, link_in(bench.pod, "net1").index,
         {.netns_fd = bench.host.netns_fd(), .name = before.name, .up = before.up()});
}

void check_limits(ContractBench& bench, const Link& before) {
  CHECK(errno_of(bench.host.change_link(before.index, {.mtu = 20})) == EINVAL);
  CHECK(link_in(bench.host, before.name).mtu == before.mtu);
  const MacAddress broadcast = *MacAddress::parse("02:00:00:00:66:66");
  change(bench.host, before.index, {.broadcast = broadcast, .tx_queue_len = 777, .alias = "contract"});
  CHECK(link_in(bench.host, before.name).broadcast == broadcast);
  CHECK(link_in(bench.host, before.name).tx_queue_len == 777);
  CHECK(link_in(bench.host, before.name).alias == "contract");
  change(bench.host, before.index,
         {.broadcast = before.broadcast, .tx_queue_len = before.tx_queue_len, .alias = ""});
  CHECK(link_in(bench.host, before.name) == before);
}

void check_flags(ContractBench& bench, const Link& before) {
  change(bench.host, before.index, {.promisc = true, .allmulti = true});
  CHECK(link_in(bench.host, before.name).promisc_set());
  CHECK(link_in(bench.host, before.name).allmulti_set());
  CHECK(link_in(bench.host, before.name).up() == before.up());
  {
    INFO("they survive a move, so each return to the host must restore them");
    change(bench.host, before.index, {.netns_fd = bench.pod.netns_fd(), .name = "net1", .up = true});
    const Link moved = link_in(bench.pod, "net1");
    CHECK(moved.promisc_set());
    CHECK(moved.allmulti_set());
    change(bench.pod, moved.index,
           {.netns_fd = bench.host.netns_fd(), .name = before.name, .up = before.up(), .promisc = false});
  }
  const Link returned = link_in(bench.host, before.name);
  CHECK_FALSE(returned.promisc_set());
  CHECK(returned.allmulti_set());
  change(bench.host, returned.index, {.allmulti = false});
  CHECK(link_in(bench.host, before.name).flags == before.flags);
}

// Settings of a pod that survive the move, so DEL must restore them.
void check_options(ContractBench& bench, const Link& before) {
  REQUIRE(before.options.flags.has_value());
  REQUIRE(before.options.mode == 0U);
  const uint32_t flags = *before.options.flags ^ 0x1080U;  // IFF_NOARP, IFF_MULTICAST
  change(bench.host, before.index,
         {.netns_fd = bench.pod.netns_fd(),
          .name = "net1",
          .options = {.flags = flags,
                      .mode = 1,
                      .group = 7,
                      .gso_max_size = 30'000,
                      .gso_max_segs = 100,
                      .gro_max_size = 20'000}});
  const Link moved = link_in(bench.pod, "net1");
  CHECK(moved.options.flags == flags);
  CHECK(moved.options.mode == 1U);
  CHECK(moved.options.group == 7U);
  CHECK(moved.options.gso_max_size == 30'000U);
  CHECK(moved.options.gso_max_segs == 100U);
  // Linux 5.19 and later: an older one leaves it out without a word.
  if (before.options.gro_max_size) CHECK(moved.options.gro_max_size == 20'000U);
  CHECK(moved.promisc_set() == before.promisc_set());
  const LinkOptions back = before.options.differing_from(moved.options);
  if (before.options.gso_ipv4_max_size) {
    INFO("the size for IPv4 goes along with the other, both ways");
    CHECK(moved.options.gso_ipv4_max_size == 30'000U);
    CHECK(back.gso_ipv4_max_size == before.options.gso_ipv4_max_size);
  }
  change(bench.pod, moved.index,
         {.netns_fd = bench.host.netns_fd(), .name = before.name, .up = before.up(), .options = back});
  CHECK(link_in(bench.host, before.name).options == before.options);
}

EthtoolSettings ethtool_of(Kernel& kernel, uint16_t family, int link, EthtoolGroup group) {
  const auto found = kernel.ethtool(family, link, group);
  REQUIRE(found);
  REQUIRE(found->has_value());
  return **found;
}

// Where the driver has them: a VF's has, a veth's has not.
void check_rings(Kernel& kernel, uint16_t family, int link) {
  const auto found = kernel.ethtool(family, link, EthtoolGroup::rings);
  REQUIRE(found);
  if (!*found || !(*found)->numbers.contains("rx")) return;
  EthtoolSettings other = **found;
  other.numbers["rx"] *= 2;
  REQUIRE(kernel.change_ethtool(family, link, EthtoolGroup::rings, *other.change_from(**found)));
  CHECK(ethtool_of(kernel, family, link, EthtoolGroup::rings) == other);
  REQUIRE(kernel.change_ethtool(family, link, EthtoolGroup::rings, *(*found)->change_from(other)));
  CHECK(ethtool_of(kernel, family, link, EthtoolGroup::rings) == **found);
}

void check_ethtool(ContractBench& bench, const Link& before) {
  const auto family = bench.host.ethtool_family();
  REQUIRE(family);
  REQUIRE(family->has_value());
  const auto group = EthtoolGroup::features;
  const EthtoolSettings features = ethtool_of(bench.host, **family, before.index, group);
  REQUIRE(features.bit_count > 32);
  EthtoolSettings other = features;
  other.bits[0] ^= 0x4000U;  // NETIF_F_GSO_BIT - 0: generic receive offload (NETIF_F_GRO_BIT)
  const auto change_to_other = other.change_from(features);
  REQUIRE(change_to_other.has_value());
  REQUIRE(bench.host.change_ethtool(**family, before.index, group, *change_to_other));
  {
    INFO("it survives a move");
    change(bench.host, before.index, {.netns_fd = bench.pod.netns_fd(), .name = "net1"});
    const int index = link_in(bench.pod, "net1").index;
    CHECK(ethtool_of(bench.pod, **family, index, group).bits == other.bits);
    REQUIRE(bench.pod.change_ethtool(**family, index, group, *features.change_from(other)));
    change(bench.pod, index, {.netns_fd = bench.host.netns_fd(), .name = before.name, .up = before.up()});
  }
  const int index = link_in(bench.host, before.name).index;
  CHECK(ethtool_of(bench.host, **family, index, group) == features);
  const auto none = bench.host.ethtool(**family, 999'999, group);
  REQUIRE_FALSE(none);
  CHECK(none.error().sys == ENODEV);
  check_rings(bench.host, **family, index);
  for (const EthtoolGroup each : kEthtoolGroups) {
    INFO("each group is there, or the driver has it not: " << group_name(each));
    CHECK(bench.host.ethtool(**family, index, each));
  }
}

void check_waiting(ContractBench& bench) {
  const auto soon = [] { return std::chrono::steady_clock::now() + std::chrono::milliseconds(20); };
  CHECK(bench.host.wait_for_link(soon(), [] { return Result<bool>(true); }));
  const auto never = bench.host.wait_for_link(soon(), [] { return Result<bool>(false); });
  REQUIRE_FALSE(never);
  CHECK(never.error().code == Errc::timeout);
}

void check_announcement(ContractBench& bench, const Link& before) {
  change(bench.host, before.index, {.up = true});
  REQUIRE(bench.host.add_address(before.index, cidr("192.0.2.1/24")));
  CHECK(errno_of(bench.host.announce(before.index, cidr("192.0.2.1/24"))) == 0);
  CHECK(errno_of(bench.host.announce(before.index, cidr("192.0.2.1/24"))) == 0);
  CHECK(errno_of(bench.host.announce(999'999, cidr("192.0.2.1/24"))) == ENODEV);
  // It loses the address by a move only.
  change(bench.host, before.index, {.netns_fd = bench.pod.netns_fd(), .name = "announced", .up = false});
  const int index = link_in(bench.pod, "announced").index;
  change(bench.pod, index, {.netns_fd = bench.host.netns_fd(), .name = before.name, .up = before.up()});
}

void check_rules(ContractBench& bench) {
  const auto rules = [&] {
    auto found = bench.pod.rules();
    REQUIRE(found);
    return *found;
  };
  const auto before = rules();
  for (const char* text : {"192.0.2.1", "2001:db8::1"}) {
    const IpAddress source = *IpAddress::parse(text);
    REQUIRE(bench.pod.add_rule(source, 1234));
    const auto now = rules();
    CHECK(now.size() == before.size() + 1);
    const auto found =
        std::find_if(now.begin(), now.end(), [&](const RoutingRule& one) { return one.source == source; });
    REQUIRE(found != now.end());
    CHECK(found->table == 1234);
    CHECK(found->priority > 0);
    CHECK(found->priority < 32766);  // before the main table
    // The new one gets another priority, so to the kernel it is another rule.
    REQUIRE(bench.pod.add_rule(source, 1234));
    CHECK(rules().size() == before.size() + 2);
    REQUIRE(bench.pod.remove_rule(*found));
    CHECK(rules().size() == before.size() + 1);
    CHECK(errno_of(bench.pod.remove_rule(*found)) == ENOENT);
    for (const RoutingRule& rule : rules()) {
      if (rule.table == 1234) REQUIRE(bench.pod.remove_rule(rule));
    }
    CHECK(rules().size() == before.size());
  }
}

void check_sysctls(ContractBench& bench) {
  const char* name = "ipv4/conf/default/arp_notify";
  const auto in_host = bench.host.read_sysctl(name);
  REQUIRE(bench.pod.write_sysctl(name, "1"));
  CHECK(*bench.pod.read_sysctl(name) == "1");
  CHECK(*bench.host.read_sysctl(name) == *in_host);
  CHECK(*in_host == "0");
}

std::string rdma_name(Kernel& kernel, uint32_t index) {
  const auto devices = kernel.rdma_devices();
  REQUIRE(devices);
  for (const RdmaDevice& device : *devices) {
    if (device.index == index) return device.name;
  }
  return "";
}

// The device is called contract_rdma and is in the pod, `other` in the host.
void check_rdma_names_of_two(ContractBench& bench, uint32_t index, const RdmaDevice& other) {
  const auto same = bench.pod.rename_rdma_device(index, other.name);
  if (!same) {
    INFO("before Linux 7 a name is taken whichever namespaces the two devices are in");
    CHECK(errno_of(same) == EEXIST);
    CHECK(errno_of(bench.host.rename_rdma_device(other.index, "contract_rdma")) == EEXIST);
    return;
  }
  INFO("since Linux 7 names are unique in a namespace, so a move can be refused for the name");
  CHECK(rdma_name(bench.pod, index) == other.name);
  CHECK(rdma_name(bench.host, other.index) == other.name);
  CHECK(errno_of(bench.pod.move_rdma_device(index, bench.host.netns_fd())) == EEXIST);
  CHECK(rdma_name(bench.pod, index) == other.name);
  REQUIRE(bench.pod.rename_rdma_device(index, "contract_rdma"));
  REQUIRE(bench.host.rename_rdma_device(other.index, "contract_rdma"));
  REQUIRE(bench.host.rename_rdma_device(other.index, other.name));
}

// `with` is the namespace that the device is in.
void check_rdma_names(ContractBench& bench, Kernel& with, uint32_t index) {
  REQUIRE(with.rename_rdma_device(index, "contract_rdma"));
  CHECK(rdma_name(with, index) == "contract_rdma");
  CHECK(with.rename_rdma_device(index, "contract_rdma"));
  {
    INFO("a name can have any characters, and its device is listed with the others");
    const auto listed = with.rdma_devices();
    REQUIRE(with.rename_rdma_device(index, "contract/rdma"));
    CHECK(rdma_name(with, index) == "contract/rdma");
    CHECK(with.rdma_devices()->size() == listed->size());
    REQUIRE(with.rename_rdma_device(index, "contract_rdma"));
  }
  const auto others = bench.host.rdma_devices();
  REQUIRE(others);
  const auto other =
      std::find_if(others->begin(), others->end(), [&](const RdmaDevice& one) { return one.index != index; });
  if (other != others->end() && with.netns_id() == bench.host.netns_id()) {
    CHECK(errno_of(with.rename_rdma_device(index, other->name)) == EEXIST);
    CHECK(errno_of(with.rename_rdma_device(other->index, "contract_rdma")) == EEXIST);
  } else if (other != others->end()) {
    check_rdma_names_of_two(bench, index, *other);
  }
  REQUIRE(with.rename_rdma_device(index, bench.rdma));
}

// Reported in the namespace that the device is in, and there alone (exclusive mode).
void check_rdma_counters(ContractBench& bench, uint32_t index) {
  const auto reported = bench.host.rdma_counters(index, 1);
  REQUIRE(reported);
  CHECK_FALSE(reported->empty());
  for (const NamedCounter& counter : *reported) CHECK_FALSE(counter.name.empty());
  for (const auto& none : {bench.host.rdma_counters(999'999, 1), bench.host.rdma_counters(index, 200)}) {
    REQUIRE_FALSE(none);
    CHECK(none.error().sys == EINVAL);
  }
}

void check_rdma(ContractBench& bench) {
  const auto mode = bench.host.rdma_netns_mode();
  REQUIRE(mode);
  REQUIRE(mode->has_value());
  const auto device = bench.host.find_rdma_device(bench.rdma);
  REQUIRE(device);
  REQUIRE(device->has_value());
  const uint32_t index = (*device)->index;
  check_rdma_names(bench, bench.host, index);
  check_rdma_counters(bench, index);
  if (**mode == RdmaNetnsMode::shared) {
    CHECK(errno_of(bench.host.move_rdma_device(index, bench.pod.netns_fd())) == EOPNOTSUPP);
    return;
  }
  CHECK(errno_of(bench.pod.move_rdma_device(index, bench.host.netns_fd())) == EINVAL);
  REQUIRE(bench.host.move_rdma_device(index, bench.pod.netns_fd()));
  CHECK_FALSE(bench.host.find_rdma_device(bench.rdma)->has_value());
  CHECK_FALSE(bench.host.rdma_counters(index, 1));
  CHECK(bench.pod.rdma_counters(index, 1));
  const auto in_pod = bench.pod.find_rdma_device(bench.rdma);
  REQUIRE(in_pod);
  REQUIRE(in_pod->has_value());
  CHECK((*in_pod)->index == index);
  CHECK(errno_of(bench.host.rename_rdma_device(index, "contract_rdma")) == EINVAL);
  check_rdma_names(bench, bench.pod, index);
  REQUIRE(bench.pod.move_rdma_device(index, bench.host.netns_fd()));
  CHECK(bench.host.find_rdma_device(bench.rdma)->has_value());
}

void check_link_traffic(ContractBench& bench, const Link& link) {
  const auto reported = bench.host.link_traffic();
  const auto links = bench.host.links();
  REQUIRE(reported);
  REQUIRE(links);
  CHECK(reported->size() == links->size());
  const auto found = std::find_if(reported->begin(), reported->end(),
                                  [&](const LinkTraffic& one) { return one.index == link.index; });
  REQUIRE(found != reported->end());
  CHECK(found->parent_device == link.parent_device);
  const auto in_pod = bench.pod.link_traffic();
  REQUIRE(in_pod);
  CHECK(in_pod->size() == bench.pod.links()->size());
}

// The values depend on the driver; the kernel queries it for each VF, and answers.
void check_vf_traffic(ContractBench& bench) {
  const int pf = link_in(bench.host, bench.pf).index;
  const auto reported = bench.host.vf_traffic(pf);
  REQUIRE(reported);
  CHECK(std::count_if(reported->begin(), reported->end(),
                      [&](const VfTraffic& one) { return one.vf == bench.vf; }) == 1);
  CHECK_FALSE(bench.host.vf_traffic(999'999));
  const auto none = bench.host.vf_traffic(link_in(bench.host, bench.link).index);
  REQUIRE(none);
  CHECK(none->empty());
}

void check_vf_settings(ContractBench& bench) {
  const int pf = link_in(bench.host, bench.pf).index;
  const auto settings = [&] {
    const auto found = bench.host.vf_settings(pf, bench.vf);
    REQUIRE(found);
    REQUIRE(found->has_value());
    return **found;
  };
  const VfSettings before = settings();
  const VfSettings change{.mac = MacAddress::parse("02:00:00:00:00:99"),
                          .vlan = VfVlan{100, 3, 0x8100},
                          .spoof_check = !before.spoof_check.value_or(true),
                          .trust = !before.trust.value_or(false)};
  REQUIRE(bench.host.change_vf(pf, bench.vf, change));
  CHECK(settings().missing(change).empty());
  // Each of them is left as it was when the change does not speak of it.
  REQUIRE(bench.host.change_vf(pf, bench.vf, {.vlan = VfVlan{}}));
  CHECK(settings()
            .missing({.mac = change.mac, .spoof_check = change.spoof_check, .trust = change.trust})
            .empty());
  REQUIRE(bench.host.change_vf(pf, bench.vf, before.only(change)));
  CHECK(settings() == before);
  {
    INFO("no such VF: nothing is reported of it, and nothing can be set");
    const auto none = bench.host.vf_settings(pf, 200);
    REQUIRE(none);
    CHECK_FALSE(none->has_value());
    CHECK(errno_of(bench.host.change_vf(pf, 200, {.vlan = VfVlan{}})) == EINVAL);
  }
  CHECK_FALSE(bench.host.vf_settings(999'999, 0));
  CHECK(errno_of(bench.host.change_vf(999'999, 0, {.vlan = VfVlan{}})) == ENODEV);
}

}  // namespace

void check_kernel_contract(ContractBench bench) {
  const Link before = link_in(bench.host, bench.link);
  const auto now = [&] { return link_in(bench.host, bench.link); };
  CHECK(bench.host.netns_id() != bench.pod.netns_id());
  check_lookup(bench, before);
  check_many_names(bench, now());
  check_limits(bench, now());
  check_flags(bench, now());
  check_options(bench, now());
  check_ethtool(bench, now());
  check_move(bench, now());
  check_addresses(bench, now());
  check_children(bench, now());
  if (bench.uppers) check_uppers(bench, now());
  check_programs(bench, now());
  check_names(bench, now());
  check_rename(bench, now());
  check_waiting(bench);
  check_announcement(bench, now());
  check_rules(bench);
  check_sysctls(bench);
  if (!bench.rdma.empty()) check_rdma(bench);
  check_link_traffic(bench, now());
  if (!bench.pf.empty()) check_vf_traffic(bench);
  if (!bench.pf.empty()) check_vf_settings(bench);
  Link after = now();
  after.index = before.index;  // another link may have had the old one meanwhile
  CHECK(after == before);
}

}  // namespace vfrail::test

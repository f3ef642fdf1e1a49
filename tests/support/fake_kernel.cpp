#include "tests/support/fake_kernel.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <utility>

namespace vfrail::test {

namespace fs = std::filesystem;

namespace {

constexpr uint32_t kUp = 1;                 // IFF_UP
constexpr uint32_t kPromisc = 0x100;        // IFF_PROMISC
constexpr uint32_t kAllmulti = 0x200;       // IFF_ALLMULTI
constexpr uint32_t kLowerUp = 0x10000;      // IFF_LOWER_UP
constexpr uint32_t kLegacyGsoSize = 65536;  // GSO_LEGACY_MAX_SIZE
constexpr uint32_t kMinIpv6Mtu = 1280;
constexpr uint16_t kEthtoolFamily = 21;
constexpr int kNowhere = -2;
constexpr int kFdOffset = 1000;  // so that a namespace's number is not taken for a real descriptor

// `now` with what `change` sets.
VfSettings overlay(const VfSettings& now, const VfSettings& change) {
  VfSettings out = now;
  if (change.mac) out.mac = change.mac;
  if (change.vlan) out.vlan = change.vlan;
  if (change.rate) out.rate = change.rate;
  if (change.spoof_check) out.spoof_check = change.spoof_check;
  if (change.trust) out.trust = change.trust;
  if (change.link_state) out.link_state = change.link_state;
  if (change.node_guid) out.node_guid = change.node_guid;
  if (change.port_guid) out.port_guid = change.port_guid;
  return out;
}

// The last 8 bytes of an IPoIB address are the port's GUID (RFC 4391).
MacAddress ipoib_address(uint64_t guid) {
  MacAddress out;
  out.bytes = {0x80, 0, 0, 0x28, 0xfe, 0x80, 0, 0, 0, 0, 0, 0};
  for (int shift = 56; shift >= 0; shift -= 8) out.bytes.push_back(static_cast<uint8_t>(guid >> shift));
  return out;
}

// The route that comes with an address (fib_add_ifaddr()).
IpAddress network_of(IpAddress address) {
  for (size_t bit = address.prefix; bit < address.bytes.size() * 8; ++bit)
    address.bytes[bit / 8] &= static_cast<uint8_t>(~(0x80U >> (bit % 8)));
  return address;
}

Error refuse(int error) { return Error::from_errno(error, "fake kernel"); }

}  // namespace

// What a link has when its driver has made it.
const LinkOptions kFreshOptions{.flags = 0x1000,  // IFF_MULTICAST
                                .mode = 0,
                                .group = 0,
                                .proto_down_reason = 0,
                                .proto_down = 0,
                                .gso_max_size = 65536,
                                .gso_max_segs = 65535,
                                .gro_max_size = 65536,
                                .gso_ipv4_max_size = 65536,
                                .gro_ipv4_max_size = 65536};

class FakeKernel : public Kernel {
 public:
  FakeKernel(FakeWorld& world, int netns) : world_(world), self_(netns) {}

  NetnsId netns_id() const override { return NetnsId{4, static_cast<uint64_t>(self_)}; }
  int netns_fd() const override { return kFdOffset + self_; }

  Result<std::optional<Link>> find_link(std::string_view name) override {
    TRY(world_.enter("find_link " + std::string(name)));
    FakeLink* found = world_.find(self_, name);
    return found == nullptr ? std::optional<Link>() : std::optional<Link>(world_.described(*found));
  }
  Result<std::optional<Link>> find_link(int index) override {
    TRY(world_.enter("find_link index"));
    FakeLink* found = world_.find(self_, index);
    return found == nullptr ? std::optional<Link>() : std::optional<Link>(world_.described(*found));
  }
  Result<std::vector<Link>> links() override {
    TRY(world_.enter("links"));
    if (world_.churning.contains(self_)) return Error{Errc::busy, EINTR, "fake kernel: interrupted"};
    std::vector<Link> out;
    for (const auto& link : world_.links_) {
      if (link->netns == self_) out.push_back(world_.described(*link));
    }
    return out;
  }

  // In the order of do_setlink() and __dev_change_net_namespace() of net/core.
  Result<> change_link(int index, const LinkChange& change) override {
    TRY(world_.enter("change_link"));
    FakeLink* link = world_.find(self_, index);
    if (link == nullptr) return refuse(ENODEV);
    auto done = apply(*link, change);
    world_.follow_gids();
    world_.write_sysfs();
    TRY(std::move(done));
    return world_.leave();
  }

  Result<> rename_link(const IfName& now, std::string_view wanted) override {
    TRY(world_.enter("rename_link " + now));
    FakeLink* link = world_.find(self_, now.text());
    if (link == nullptr) return refuse(ENODEV);
    TRY(rename(*link, std::string(wanted)));
    world_.write_sysfs();
    return world_.leave();
  }
  Result<> add_altname(int index, std::string_view name) override {
    TRY(world_.enter("add_altname " + std::string(name)));
    FakeLink* link = world_.find(self_, index);
    if (link == nullptr) return refuse(ENODEV);
    if (world_.name_in_use(self_, name, nullptr)) return refuse(EEXIST);
    link->link.altnames.emplace_back(name);
    return world_.leave();
  }
  Result<> remove_altname(int index, std::string_view name) override {
    TRY(world_.enter("remove_altname " + std::string(name)));
    FakeLink* link = world_.find(self_, index);
    if (link == nullptr) return refuse(ENODEV);
    if (link->link.name == name) return refuse(EINVAL);
    if (std::erase(link->link.altnames, std::string(name)) == 0) return refuse(ENOENT);
    return world_.leave();
  }

  // rtnl_newlink_create() of net/core/rtnetlink.c, macvlan_common_newlink(), ipvlan_link_new().
  Result<> add_link(const NewLink& wanted) override {
    TRY(world_.enter("add_link " + wanted.kind + " " + wanted.name));
    FakeLink* below = world_.find(self_, wanted.lower);
    const int netns = wanted.netns_fd >= 0 ? wanted.netns_fd - kFdOffset : self_;
    if (world_.name_in_use(netns, wanted.name, nullptr)) return refuse(EEXIST);
    if (below == nullptr) return refuse(ENODEV);
    if (world_.missing_kinds.contains(wanted.kind)) return refuse(EOPNOTSUPP);
    if (wanted.mtu && *wanted.mtu > below->link.mtu) return refuse(EINVAL);
    world_.add_child(*below, netns, wanted);
    world_.write_sysfs();
    return world_.leave();
  }
  Result<> remove_links(const std::vector<int>& indices) override {
    TRY(world_.enter("remove_links"));
    for (const int index : indices) {
      const FakeLink* link = world_.find(self_, index);
      if (link != nullptr && link->hardware) return refuse(EOPNOTSUPP);
    }
    for (const int index : indices) world_.remove(world_.find(self_, index));
    return world_.leave();
  }
  Result<std::optional<int>> nsid_of(int netns_fd) override {
    TRY(world_.enter("nsid_of"));
    return std::optional(netns_fd - kFdOffset);
  }
  Result<UpperLinks> upper_links(int index, const UpperOffsets& /*offsets*/) override {
    TRY(world_.enter("upper_links"));
    const FakeLink* lower = world_.find(self_, index);
    if (lower == nullptr) return refuse(ENODEV);
    UpperLinks out;
    for (const auto& link : world_.links_) {
      if (link->stands_on != lower) continue;
      out.more = out.links.size() == UpperLinks::kMost;
      if (!out.more) out.links.push_back({link->link.index, static_cast<uint64_t>(link->netns)});
    }
    TRY(world_.leave());
    return out;
  }
  Result<std::vector<std::string>> detach_programs(const Link& link) override {
    TRY(world_.enter("detach_programs"));
    if (world_.bpf_error != 0) return refuse(world_.bpf_error);
    FakeLink* found = world_.find(self_, link.index);
    if (found == nullptr) return refuse(ENODEV);
    auto programs = std::move(found->programs);
    found->programs.clear();
    TRY(world_.leave());
    return programs;
  }
  Result<std::optional<uint16_t>> ethtool_family() override {
    TRY(world_.enter("ethtool_family"));
    return std::optional<uint16_t>(kEthtoolFamily);
  }
  Result<std::optional<EthtoolSettings>> ethtool(uint16_t family, int link, EthtoolGroup group) override {
    TRY(world_.enter(std::string("ethtool ") + group_name(group)));
    if (family != kEthtoolFamily) return refuse(ENOENT);
    if (world_.at_ethtool) world_.at_ethtool();
    if (world_.ethtool_error != 0) return refuse(world_.ethtool_error);
    const FakeLink* found = world_.find(self_, link);
    if (found == nullptr) return refuse(ENODEV);
    const auto at = found->ethtool.find(group);
    return at == found->ethtool.end() ? std::optional<EthtoolSettings>() : std::optional(at->second);
  }
  Result<> change_ethtool(uint16_t family, int link, EthtoolGroup group,
                          const EthtoolSettings& change) override {
    TRY(world_.enter(std::string("change_ethtool ") + group_name(group)));
    if (family != kEthtoolFamily) return refuse(ENOENT);
    FakeLink* found = world_.find(self_, link);
    if (found == nullptr) return refuse(ENODEV);
    const auto at = found->ethtool.find(group);
    if (at == found->ethtool.end() || found->refuses.contains(group)) return refuse(EOPNOTSUPP);
    for (const auto& [name, value] : change.numbers) at->second.numbers[name] = value;
    for (const auto& [name, on] : change.named_bits) {
      if (name != "rx-gro") return refuse(EINVAL);
      constexpr uint32_t kGro = 1U << 14;  // NETIF_F_GRO_BIT
      at->second.bits[0] = on ? at->second.bits[0] | kGro : at->second.bits[0] & ~kGro;
    }
    for (size_t i = 0; i < change.mask.size(); ++i)
      at->second.bits[i] = (at->second.bits[i] & ~change.mask[i]) | (change.bits[i] & change.mask[i]);
    return world_.leave();
  }

  Result<std::vector<VfReport>> vfs(int pf_link) override {
    TRY(world_.enter("vfs"));
    const FakePf* pf = self_ == FakeWorld::kHost ? world_.find_pf(pf_link) : nullptr;
    if (world_.find(self_, pf_link) == nullptr) return refuse(ENODEV);
    std::vector<VfReport> out;
    for (uint32_t vf = 0; pf != nullptr && vf < pf->settings.size(); ++vf) {
      VfSettings settings = pf->settings[vf];
      if (!pf->reports_guids) settings.node_guid = settings.port_guid = std::nullopt;
      out.push_back({vf, std::move(settings)});
    }
    return out;
  }
  Result<std::vector<VfTraffic>> vf_traffic(int pf_link) override {
    TRY(world_.enter("vf_traffic"));
    const FakePf* pf = self_ == FakeWorld::kHost ? world_.find_pf(pf_link) : nullptr;
    if (world_.find(self_, pf_link) == nullptr) return refuse(ENODEV);
    std::vector<VfTraffic> out;
    for (uint32_t vf = 0; pf != nullptr && vf < pf->settings.size(); ++vf) {
      const auto reported = pf->traffic.find(vf);
      out.push_back({vf, reported == pf->traffic.end() ? TrafficCounters() : reported->second});
    }
    return out;
  }
  Result<std::vector<LinkTraffic>> link_traffic() override {
    TRY(world_.enter("link_traffic"));
    std::vector<LinkTraffic> out;
    for (const auto& one : world_.links_) {
      if (one->netns == self_) out.push_back({one->link.index, one->link.parent_device, one->traffic});
    }
    return out;
  }
  // Setting by setting, as do_setvfinfo() of net/core/rtnetlink.c; the first refusal ends it.
  Result<> change_vf(int pf_link, uint32_t vf, const VfSettings& change) override {
    TRY(world_.enter("change_vf " + change.text()));
    FakePf* pf = self_ == FakeWorld::kHost ? world_.find_pf(pf_link) : nullptr;
    if (world_.find(self_, pf_link) == nullptr) return refuse(ENODEV);
    if (pf == nullptr) return refuse(EOPNOTSUPP);
    if (vf >= pf->settings.size()) return refuse(EINVAL);
    VfSettings& now = pf->settings[vf];
    for (const VfSettings& one : change.each()) {
      if (!pf->refuses.only(one).empty()) return refuse(EOPNOTSUPP);
      if (one.rate && one.rate->max != 0 && one.rate->max < one.rate->min) return refuse(EINVAL);
      now = overlay(now, one);
    }
    return world_.leave();
  }

  Result<> wait_for_link(Deadline, const std::function<Result<bool>()>& ready) override {
    TRY(world_.enter("wait_for_link"));
    if (TRY(ready())) return {};
    if (world_.while_waiting) world_.while_waiting();
    for (int i = 0; i < world_.link_changes_while_waiting; ++i) {
      if (TRY(ready())) return {};
    }
    if (TRY(ready())) return {};
    return Error{Errc::timeout, ETIMEDOUT, "fake kernel: deadline passed"};
  }

  Result<> add_address(int index, const IpAddress& address, const AddressSettings& settings) override {
    TRY(world_.enter("add_address " + address.cidr()));
    FakeLink* link = world_.find(self_, index);
    if (link == nullptr) return refuse(ENODEV);
    for (const LinkAddress& have : link->addresses) {
      if (have.address == address) return refuse(EEXIST);
    }
    link->addresses.push_back({.address = address, .settings = settings});
    if (link->link.up() && !settings.no_prefix_route && address.prefix < address.bytes.size() * 8) {
      Route route;
      route.destination = network_of(address);
      route.link = index;
      route.protocol = 2;  // RTPROT_KERNEL
      world_.routes_[self_].push_back(std::move(route));
    }
    world_.follow_gids();
    if (world_.rdma_mode == RdmaNetnsMode::shared) world_.write_sysfs();
    return world_.leave();
  }
  Result<std::vector<LinkAddress>> addresses(int index) override {
    TRY(world_.enter("addresses"));
    FakeLink* link = world_.find(self_, index);
    return link == nullptr ? std::vector<LinkAddress>() : link->addresses;
  }
  Result<std::vector<LinkAddress>> wait_for_dad(int index, Deadline) override { return addresses(index); }

  Result<> add_route(const Route& route) override {
    TRY(world_.enter("add_route " + route.destination.cidr()));
    FakeLink* link = world_.find(self_, route.link);
    if (link == nullptr) return refuse(ENODEV);
    if (!link->link.up()) return refuse(ENETDOWN);
    // The same in every respect (fib_table_insert()); that of an address is the kernel's own, so another.
    Route added = route;
    added.protocol = route.protocol.value_or(3);  // RTPROT_BOOT
    auto& routes = world_.routes_[self_];
    if (std::find(routes.begin(), routes.end(), added) != routes.end()) return refuse(EEXIST);
    routes.push_back(std::move(added));
    return world_.leave();
  }
  Result<std::vector<Route>> routes(int index) override {
    TRY(world_.enter("routes"));
    std::vector<Route> out = world_.routes_[self_];
    if (index != 0) std::erase_if(out, [&](const Route& route) { return route.link != index; });
    return out;
  }
  Result<std::vector<Route>> default_routes() override {
    TRY(world_.enter("default_routes"));
    std::vector<Route> out = world_.routes_[self_];
    std::erase_if(out, [](const Route& route) { return route.destination.prefix != 0; });
    return out;
  }

  // fib_newrule() of net/core/fib_rules.c: in front of all that are there.
  Result<> add_rule(const IpAddress& source, uint32_t table) override {
    TRY(world_.enter("add_rule " + source.cidr()));
    auto& rules = world_.rules_[self_];
    uint32_t priority = 32766;
    for (const RoutingRule& rule : rules) {
      if (rule.source.v6() == source.v6()) priority = std::min(priority, rule.priority);
    }
    rules.push_back({source, table, priority - 1});
    return world_.leave();
  }
  Result<std::vector<RoutingRule>> rules() override {
    TRY(world_.enter("rules"));
    std::vector<RoutingRule> out = world_.rules_[self_];
    for (const size_t width : {size_t{4}, size_t{16}}) {
      const IpAddress all{std::vector<uint8_t>(width, 0), 0};
      out.push_back({all, 255, 0});
      out.push_back({all, 254, 32766});
    }
    return out;
  }
  Result<> remove_rule(const RoutingRule& rule) override {
    TRY(world_.enter("remove_rule " + rule.source.cidr()));
    if (std::erase(world_.rules_[self_], rule) == 0) return refuse(ENOENT);
    return world_.leave();
  }

  Result<std::optional<std::string>> read_sysctl(std::string_view name) override {
    TRY(world_.enter("read_sysctl " + std::string(name)));
    const auto at = world_.sysctls_.find(std::to_string(self_) + "/" + std::string(name));
    return std::optional<std::string>(at == world_.sysctls_.end() ? "0" : at->second);
  }
  Result<> write_sysctl(std::string_view name, std::string_view value) override {
    TRY(world_.enter("write_sysctl " + std::string(name)));
    world_.sysctls_[std::to_string(self_) + "/" + std::string(name)] = value;
    return world_.leave();
  }

  // A picture of the moment in which it is asked for.
  Result<std::optional<std::string>> sysfs() override {
    TRY(world_.enter("sysfs"));
    const std::string folder = world_.root_ + "/sysfs-of-" + std::to_string(self_);
    fs::remove_all(folder);
    fs::create_directories(folder + "/class/net");
    for (const auto& link : world_.links_) {
      if (link->netns == self_) fs::create_directories(folder + "/class/net/" + link->link.name);
    }
    for (const FakeRdma& rdma : world_.rdma_) {
      if (rdma.netns != self_ && world_.rdma_mode == RdmaNetnsMode::exclusive) continue;
      rdma.gids.write(folder + "/bus/pci/devices/" + rdma.pci + "/infiniband/" + rdma.device.name +
                      "/ports/1");
      for (const NamedCounter& counter : rdma.sysfs_counters) {
        const std::string counters = folder + "/class/infiniband/" + rdma.device.name + "/ports/1/counters/";
        fs::create_directories(counters);
        std::ofstream(counters + counter.name) << counter.value << "\n";
      }
    }
    return std::optional(folder);
  }

  Result<> announce(int link, const IpAddress& address) override {
    TRY(world_.enter("announce " + address.text()));
    const FakeLink* found = world_.find(self_, link);
    if (found == nullptr) return refuse(ENODEV);
    world_.announced.push_back(address.text() + " at " + found->link.mac.text());
    return world_.leave();
  }

  Result<std::optional<RdmaNetnsMode>> rdma_netns_mode() override {
    TRY(world_.enter("rdma_netns_mode"));
    if (world_.rdma_.empty()) return std::optional<RdmaNetnsMode>();
    return std::optional<RdmaNetnsMode>(world_.rdma_mode);
  }
  Result<std::optional<RdmaDevice>> find_rdma_device(std::string_view name) override {
    for (RdmaDevice& device : TRY(rdma_devices())) {
      if (device.name == name) return std::optional<RdmaDevice>(std::move(device));
    }
    return std::optional<RdmaDevice>();
  }
  Result<std::vector<RdmaDevice>> rdma_devices() override {
    TRY(world_.enter("rdma_devices"));
    world_.go_on_with_rdma_moves();
    std::vector<RdmaDevice> out;
    for (const FakeRdma& rdma : world_.rdma_) {
      const bool visible = rdma.netns == self_ || world_.rdma_mode == RdmaNetnsMode::shared;
      if (visible) out.push_back(rdma.device);
    }
    if (world_.rdma_lists_with_a_gap > 0 && !out.empty()) {
      --world_.rdma_lists_with_a_gap;
      out.erase(out.begin());
    }
    return out;
  }
  // stat_get_doit_default_counter() of drivers/infiniband/core/nldev.c.
  Result<std::vector<NamedCounter>> rdma_counters(uint32_t index, uint32_t port) override {
    TRY(world_.enter("rdma_counters"));
    for (const FakeRdma& rdma : world_.rdma_) {
      const bool visible = rdma.netns == self_ || world_.rdma_mode == RdmaNetnsMode::shared;
      if (visible && rdma.device.index == index && port == 1 && !rdma.counters.empty()) return rdma.counters;
    }
    return refuse(EINVAL);
  }
  // ib_device_set_netns_put() and rdma_dev_change_netns() of drivers/infiniband/core/device.c.
  Result<> move_rdma_device(uint32_t index, int netns_fd) override {
    TRY(world_.enter("move_rdma_device"));
    if (world_.rdma_mode == RdmaNetnsMode::shared) return refuse(EOPNOTSUPP);
    for (FakeRdma& rdma : world_.rdma_) {
      if (rdma.device.index != index || rdma.netns != self_) continue;
      if (world_.rdma_name_in_use(rdma, rdma.device.name, netns_fd - kFdOffset)) return refuse(EEXIST);
      rdma.netns = netns_fd - kFdOffset;
      world_.renumber(rdma);
      world_.recreate_ipoib(rdma);
      world_.write_sysfs();
      return world_.leave();
    }
    return refuse(EINVAL);  // nldev_set_doit() does not find it
  }
  Result<> rename_rdma_device(uint32_t index, std::string_view name) override {
    TRY(world_.enter("rename_rdma_device " + std::string(name)));
    FakeRdma* renamed = nullptr;
    for (FakeRdma& rdma : world_.rdma_) {
      const bool here = rdma.netns == self_ || world_.rdma_mode == RdmaNetnsMode::shared;
      if (rdma.device.index == index && here) renamed = &rdma;
    }
    if (renamed == nullptr) return refuse(EINVAL);
    if (world_.rdma_name_in_use(*renamed, name, self_)) return refuse(EEXIST);
    renamed->device.name = RdmaName(std::string(name));
    world_.write_sysfs();
    return world_.leave();
  }

 private:
  Result<> apply(FakeLink& link, const LinkChange& change) {
    if (change.eui64 && (world_.no_ipv6 || link.link.mtu < kMinIpv6Mtu)) return refuse(EAFNOSUPPORT);
    const bool moves = change.netns_fd >= 0 && change.netns_fd - kFdOffset != self_;
    if (moves) TRY(world_.move_to(link, change.netns_fd - kFdOffset, change.name));
    if (change.mac) {
      if (change.mac->bytes.size() != link.link.mac.bytes.size()) return refuse(EINVAL);
      // igb and its kin: once the administrator has set an address, a VF that is not trusted has that one or
      // none.
      const VfSettings* vf = world_.find_vf(link.link.parent_device);
      const bool administered = vf != nullptr && vf->mac && !vf->mac->all_zero() && vf->trust != true;
      if (administered && link.reported != *change.mac) return refuse(EADDRNOTAVAIL);
      link.link.mac = *change.mac;
    }
    if (change.mtu) {
      const bool fits =
          *change.mtu >= link.link.min_mtu && (link.link.max_mtu == 0 || *change.mtu <= link.link.max_mtu);
      if (!fits) return refuse(EINVAL);
      link.link.mtu = *change.mtu;
    }
    if (change.name) TRY(rename(link, *change.name));
    if (change.broadcast && change.broadcast->bytes.size() != link.link.mac.bytes.size())
      return refuse(EINVAL);
    if (change.broadcast) link.link.broadcast = *change.broadcast;
    if (change.alias) link.link.alias = *change.alias;
    if (change.up && !*change.up && link.link.up()) world_.reset(link);
    set_flag(link, change.up, link.plugged ? kUp | kLowerUp : kUp);
    set_flag(link, change.promisc, kPromisc);
    set_flag(link, change.allmulti, kAllmulti);
    if (change.up && !*change.up) drop_routes(link);
    const bool private_address = world_.stable_privacy.contains(link.netns) && !change.eui64;
    if (change.up == true && private_address)
      link.addresses.push_back({*IpAddress::parse_cidr("fe80::dead:beef/64"), DadState::done});
    set_options(link.link, change.options);
    if (change.tx_queue_len) link.link.tx_queue_len = *change.tx_queue_len;
    return {};
  }

  static void set_options(Link& link, const LinkOptions& change) {
    for (const auto& row : LinkOptions::kRows) {
      if (change.*row.value) link.options.*row.value = change.*row.value;
    }
    // netif_set_gso_max_size() and its sister.
    if (change.gso_max_size && !change.gso_ipv4_max_size && *change.gso_max_size <= kLegacyGsoSize)
      link.options.gso_ipv4_max_size = change.gso_max_size;
    if (change.gro_max_size && !change.gro_ipv4_max_size && *change.gro_max_size <= kLegacyGsoSize)
      link.options.gro_ipv4_max_size = change.gro_max_size;
    if (change.flags) link.flags = (link.flags & ~LinkOptions::kFlags) | *change.flags;
  }

  static void set_flag(FakeLink& link, const std::optional<bool>& wanted, uint32_t flag) {
    if (wanted) link.link.flags = *wanted ? link.link.flags | flag : link.link.flags & ~flag;
  }

  Result<> rename(FakeLink& link, const std::string& wanted) {
    std::string name = wanted;
    if (wanted.find('%') != std::string::npos) {
      for (int i = 0; world_.name_in_use(link.netns, name = "dev" + std::to_string(i), &link); ++i) {
      }
    }
    if (name == link.link.name) return {};
    if (world_.names_only_down && link.link.up()) return refuse(EBUSY);
    // Its own alternative names count: dev_change_name() asks the same table.
    if (world_.name_in_use(link.netns, name, nullptr)) return refuse(EEXIST);
    link.link.name = *IfName::parse(name);
    return {};
  }

  void drop_routes(const FakeLink& link) {
    std::erase_if(world_.routes_[link.netns],
                  [&](const Route& route) { return route.link == link.link.index; });
  }

  FakeWorld& world_;
  int self_;
};

FakeWorld::FakeWorld(std::string root) : root_(std::move(root)) {
  write_sysfs();
  fs::create_directories(root_ + "/proc/sys/kernel/random");
  std::ofstream(root_ + "/proc/sys/kernel/random/boot_id") << "boot-1\n";
}

void FakeWorld::add_port(const std::string& pci, const std::string& name, int dev_port) {
  add_vf(pci, name);
  links_.back()->dev_port = dev_port;
  write_sysfs();
}

FakePf& FakeWorld::add_pf(const std::string& pci, const std::string& name) {
  add_vf(pci, name);
  pfs_.push_back(std::make_unique<FakePf>(FakePf{pci, name, {}, {}, {}}));
  return *pfs_.back();
}

FakePf* FakeWorld::find_pf(int link) {
  const FakeLink* found = find(kHost, link);
  for (auto& pf : pfs_) {
    if (found != nullptr && found->link.parent_device == pf->pci) return pf.get();
  }
  return nullptr;
}

VfSettings* FakeWorld::find_vf(const std::string& pci) {
  for (auto& pf : pfs_) {
    const auto at = std::find(pf->vfs.begin(), pf->vfs.end(), pci);
    if (at != pf->vfs.end()) return &pf->settings[static_cast<size_t>(at - pf->vfs.begin())];
  }
  return nullptr;
}

VfSettings& FakeWorld::vf(const std::string& pci) {
  VfSettings* found = find_vf(pci);
  if (found == nullptr) throw std::runtime_error("fake world: no VF " + pci);
  return *found;
}

void FakeWorld::add_ib_vf(const std::string& pci, const std::string& name, const std::string& pf) {
  add_vf(pci, name, pf);
  const uint64_t guid = 0x1122'3344'5566'7700 + static_cast<uint64_t>(links_.back()->link.index);
  vf(pci) = VfSettings{.link_state = VfLinkState::automatic, .node_guid = guid, .port_guid = guid};
  Link& link = links_.back()->link;
  link.type = 32;
  link.mac = ipoib_address(guid);
  link.broadcast.bytes.assign(link.mac.bytes.size(), 0xff);
  link.min_mtu = 0;
  link.max_mtu = 4092;
}

void FakeWorld::reset(FakeLink& link) {
  const VfSettings* vf = find_vf(link.link.parent_device);
  if (vf != nullptr && vf->mac && !vf->mac->all_zero()) link.reported = *vf->mac;
}

// What is left is what the driver makes: a new index, its default name and settings, in the host.
void FakeWorld::recreate_netdev(const std::string& pci, int netns) {
  remove_all([&](const FakeLink& one) {  // what stands on it ends with it
    return one.stands_on != nullptr && one.stands_on->link.parent_device == pci;
  });
  for (auto& one : links_) {
    if (one->link.parent_device != pci) continue;
    Link fresh;
    std::string name;
    std::erase_if(routes_[one->netns], [&](const Route& route) { return route.link == one->link.index; });
    one->netns = -1;  // its names and index are free
    for (int i = 0;
         name_in_use(netns, name = (one->link.type == 32 ? "ib" : "eth") + std::to_string(i), nullptr); ++i) {
    }
    one->programs.clear();
    fresh.index = free_index(netns);
    fresh.name = *IfName::parse(name);
    fresh.type = one->link.type;
    fresh.mac = one->link.mac;
    fresh.broadcast.bytes.assign(fresh.type == 32 ? 20 : 6, 0xff);
    fresh.mtu = fresh.type == 32 ? 2044 : 1500;
    fresh.min_mtu = one->link.min_mtu;
    fresh.max_mtu = one->link.max_mtu;
    fresh.tx_queue_len = 1000;
    fresh.parent_bus = one->link.parent_bus;
    fresh.parent_device = pci;
    fresh.options = kFreshOptions;
    if (const VfSettings* settings = find_vf(pci); settings != nullptr && settings->port_guid) {
      fresh.mac = ipoib_address(*settings->port_guid);
    }
    one->link = fresh;
    one->addresses.clear();
    one->netns = netns;
  }
}

// ipoib_remove_one() and ipoib_add_one(): a client of the RDMA device, so it goes and comes with each move.
void FakeWorld::recreate_ipoib(const FakeRdma& rdma) {
  const bool ipoib = std::any_of(links_.begin(), links_.end(), [&](const auto& one) {
    return one->link.parent_device == rdma.pci && one->link.type == 32;
  });
  if (ipoib) recreate_netdev(rdma.pci, ipoib_beside_rdma ? rdma.netns : kHost);
}

void FakeWorld::give_to_vfio(const std::string& pci) {
  remove_all([&](const FakeLink& one) { return one.link.parent_device == pci; });
  std::erase_if(rdma_, [&](const FakeRdma& one) { return one.pci == pci; });
  pci_driver_[pci] = "vfio-pci";
  write_sysfs();
}

void FakeWorld::destroy_vf(const std::string& pci) {
  give_to_vfio(pci);
  pci_driver_.erase(pci);
  for (auto& pf : pfs_) {
    const auto at = std::find(pf->vfs.begin(), pf->vfs.end(), pci);
    if (at == pf->vfs.end()) continue;
    pf->settings.erase(pf->settings.begin() + (at - pf->vfs.begin()));
    pf->vfs.erase(at);
  }
  write_sysfs();
}

Result<> FakeWorld::rebind(const std::string& pci) {
  TRY(enter("rebind " + pci));
  if (!pci_driver_.contains(pci)) return refuse(ENODEV);
  pci_driver_[pci] = probe_fails ? "" : "igbvf";
  if (probe_fails) {
    for (auto& one : links_) {
      if (one->link.parent_device == pci) one->netns = kNowhere;
    }
    for (FakeRdma& rdma : rdma_) {
      if (rdma.pci == pci) rdma.netns = kNowhere;
    }
    write_sysfs();
    return Error{Errc::not_found, 0, "fake kernel: no driver"};
  }
  recreate_netdev(pci);
  for (FakeRdma& rdma : rdma_) {
    if (rdma.pci != pci) continue;
    rdma.netns = kHost;
    rdma.moves_to.reset();
    for (const FakeRdma& other : rdma_)
      rdma.device.index = std::max(rdma.device.index, other.device.index + 1);
    renumber(rdma);
  }
  write_sysfs();
  return leave();
}

FakePf& FakeWorld::pf(const std::string& pci) {
  for (const auto& one : pfs_) {
    if (one->pci == pci) return *one;
  }
  throw std::runtime_error("no PF " + pci);
}

void FakeWorld::add_vf(const std::string& pci, const std::string& name, const std::string& pf) {
  auto link = std::make_unique<FakeLink>();
  link->hardware = true;
  link->link.index = free_index(kHost);
  link->link.name = *IfName::parse(name);
  link->link.type = 1;
  link->link.mac.bytes = {0x52, 0x54, 0, 0, 0, static_cast<uint8_t>(link->link.index)};
  link->link.broadcast.bytes.assign(6, 0xff);
  link->link.mtu = 1500;
  link->link.min_mtu = 68;
  link->link.max_mtu = 9216;
  link->link.tx_queue_len = 1000;
  link->link.parent_bus = "pci";
  link->link.parent_device = pci;
  link->link.options = kFreshOptions;
  link->link.flags = *kFreshOptions.flags;
  links_.push_back(std::move(link));
  pci_driver_[pci] = "igbvf";
  for (auto& one : pfs_) {
    if (one->pci != pf) continue;
    one->vfs.push_back(pci);
    one->settings.push_back({.mac = MacAddress{std::vector<uint8_t>(6)},
                             .vlan = VfVlan{},
                             .rate = VfRate{},
                             .spoof_check = true,
                             .trust = false,
                             .link_state = VfLinkState::automatic});
  }
  write_sysfs();
}

void FakeWorld::add_rdma(const std::string& pci, const std::string& name) {
  FakeRdma rdma;
  rdma.device.index = static_cast<uint32_t>(rdma_.size());
  rdma.device.name = RdmaName(name);
  rdma.pci = pci;
  rdma.uverbs = rdma.umad = -1;
  rdma_.push_back(rdma);
  renumber(rdma_.back());
  write_sysfs();
}

void FakeWorld::add_veth(int netns, const std::string& name) {
  auto link = std::make_unique<FakeLink>();
  link->netns = netns;
  link->link.index = free_index(netns);
  link->link.name = *IfName::parse(name);
  link->link.kind = "veth";
  link->link.type = 1;
  link->link.mac.bytes = {0x02, 0, 0, 1, static_cast<uint8_t>(netns), static_cast<uint8_t>(link->link.index)};
  link->link.broadcast.bytes.assign(6, 0xff);
  link->link.mtu = 1500;
  link->link.tx_queue_len = 1000;
  links_.push_back(std::move(link));
}

void FakeWorld::add_loopback(int netns) {
  auto link = std::make_unique<FakeLink>();
  link->netns = netns;
  link->link.index = 1;
  link->link.name = *IfName::parse("lo");
  link->link.type = 772;  // ARPHRD_LOOPBACK
  link->link.mac.bytes.assign(6, 0);
  link->link.mtu = 65536;
  links_.push_back(std::move(link));
}

void FakeWorld::stack(int netns, const std::string& lower, const std::string& name) {
  FakeLink* below = find(netns, lower);
  if (below == nullptr) throw std::runtime_error("fake world: no link " + lower);
  add_veth(netns, name);
  links_.back()->link.kind = "macvlan";
  links_.back()->link.mac = below->link.mac;
  links_.back()->stands_on = below;
}

void FakeWorld::add_child(FakeLink& below, int netns, const NewLink& wanted) {
  add_veth(netns, wanted.name);
  FakeLink& out = *links_.back();
  out.link.kind = wanted.kind;
  out.link.type = below.link.type;
  if (wanted.kind != "macvlan") out.link.mac = below.link.mac;
  // Each interface has a queue pair of its own, here each namespace.
  if (wanted.kind == "ipoib") out.link.mac.bytes.at(3) = static_cast<uint8_t>(0x80 + netns);
  if (wanted.mac) out.link.mac = *wanted.mac;
  out.link.mtu = wanted.mtu.value_or(below.link.mtu);
  if (wanted.up) out.link.flags |= kUp | (below.link.carrier() ? kLowerUp : 0U);
  out.stands_on = &below;
}

void FakeWorld::move(int netns, const std::string& name, int to) {
  FakeLink* link = find(netns, name);
  if (link == nullptr || !move_to(*link, to, std::nullopt))
    throw std::runtime_error("fake world: cannot move " + name);
  write_sysfs();
}

Link FakeWorld::described(const FakeLink& link) const {
  Link out = link.link;
  if (!reports_parents) out.parent_bus.clear(), out.parent_device.clear();
  if (link.stands_on == nullptr) return out;
  out.lower = link.stands_on->link.index;
  // ipoib_link_ops has no get_link_net(): no namespace, and nothing at all where the index is its own.
  if (link.link.kind == "ipoib" && out.lower == out.index) out.lower = 0;
  if (link.stands_on->netns != link.netns && link.link.kind != "ipoib")
    out.lower_nsid = link.stands_on->netns;
  return out;
}

void FakeWorld::remove_all(const std::function<bool(const FakeLink&)>& which) {
  for (;;) {
    const auto found =
        std::find_if(links_.begin(), links_.end(), [&](const auto& one) { return which(*one); });
    if (found == links_.end()) return;
    remove(found->get());
  }
}

void FakeWorld::remove(const FakeLink* link) {
  if (link == nullptr) return;
  remove_all([&](const FakeLink& one) { return one.stands_on == link; });
  std::erase_if(routes_[link->netns], [&](const Route& route) { return route.link == link->link.index; });
  std::erase_if(links_, [&](const auto& one) { return one.get() == link; });
}

// ib_device_rename() and rdma_dev_change_netns().
bool FakeWorld::rdma_name_in_use(const FakeRdma& except, std::string_view name, int netns) const {
  return std::any_of(rdma_.begin(), rdma_.end(), [&](const FakeRdma& other) {
    return &other != &except && other.device.name == name && (!rdma_names_by_netns || other.netns == netns);
  });
}

Link& FakeWorld::link(const std::string& name) {
  FakeLink* found = find(kHost, name);
  if (found == nullptr) throw std::runtime_error("fake world: no link " + name);
  return found->link;
}

FakeLink& FakeWorld::fake_link(int netns, const std::string& name) {
  FakeLink* found = find(netns, name);
  if (found == nullptr) throw std::runtime_error("fake world: no link " + name);
  return *found;
}

FakeRdma& FakeWorld::rdma(const std::string& name) {
  for (FakeRdma& one : rdma_) {
    if (one.device.name == name) return one;
  }
  throw std::runtime_error("fake world: no RDMA device " + name);
}

int FakeWorld::add_netns(const std::string& path) { return netns_[path] = next_netns_++; }

std::optional<int> FakeWorld::netns_at(const std::string& path) const {
  const auto at = netns_.find(path);
  return at == netns_.end() ? std::nullopt : std::optional<int>(at->second);
}

void FakeWorld::end_netns(const std::string& path) {
  const int netns = netns_.at(path);
  netns_.erase(path);
  for (auto& link : links_) {
    const bool returns = link->hardware || (link->link.kind == "ipoib" && ipoib_children_return);
    if (link->netns != netns || !returns) continue;
    const bool taken = name_in_use(kHost, link->link.name, nullptr);
    const auto moved = move_to(*link, kHost, taken ? std::optional<std::string>("dev%d") : std::nullopt);
    if (!moved) throw std::runtime_error("fake world: cannot send " + link->link.name + " to the host");
  }
  remove_all([&](const FakeLink& link) { return link.netns == netns; });
  for (FakeRdma& rdma : rdma_) {
    if (rdma.netns != netns) continue;
    if (rdma_name_in_use(rdma, rdma.device.name, kHost))
      rdma.device.name = RdmaName("ibdev" + std::to_string(rdma.device.index));
    rdma.netns = kHost;
    renumber(rdma);
    recreate_ipoib(rdma);
  }
  routes_.erase(netns);
  rules_.erase(netns);
  write_sysfs();
}

std::unique_ptr<Kernel> FakeWorld::open(int netns) { return std::make_unique<FakeKernel>(*this, netns); }

Result<std::unique_ptr<Kernel>> FakeWorld::open_path(const std::string& path) {
  TRY(enter("open_netns"));
  const auto netns = netns_at(path);
  return netns ? open(*netns) : std::unique_ptr<Kernel>();
}

namespace {

bool is_usual_broadcast(const MacAddress& address) {
  return std::all_of(address.bytes.begin(), address.bytes.end(), [](uint8_t byte) { return byte == 0xff; });
}

// What differs from a fresh link.
std::string settings_of(const FakeLink& one) {
  std::string out;
  for (const auto& row : LinkOptions::kRows) {
    const auto& value = one.link.options.*row.value;
    if (value && value != kFreshOptions.*row.value)
      out += std::string(" ") + row.name + " " + std::to_string(*value);
  }
  const FakeLink fresh;
  for (const auto& [group, settings] : fresh.ethtool) {
    const std::string differs = settings.difference_to(one.ethtool.at(group));
    if (!differs.empty()) out += std::string(" ") + group_name(group) + " " + differs;
  }
  return out;
}

}  // namespace

std::string FakeWorld::snapshot() const {
  std::vector<std::string> lines;
  for (const auto& one : links_) {
    const Link& link = one->link;
    std::string line = "netns " + std::to_string(one->netns) + " link " + link.name + " " + link.mac.text() +
                       " mtu " + std::to_string(link.mtu) + " qlen " + std::to_string(link.tx_queue_len) +
                       " alias \"" + link.alias + "\"" + (link.up() ? " up" : " down") +
                       (is_usual_broadcast(link.broadcast) ? "" : " brd " + link.broadcast.text()) +
                       (link.promisc_set() ? " promisc" : "") + (link.allmulti_set() ? " allmulti" : "");
    for (const std::string& program : one->programs) line += " " + program;
    auto altnames = link.altnames;
    std::sort(altnames.begin(), altnames.end());
    for (const std::string& name : altnames) line += " altname " + name;
    for (const LinkAddress& address : one->addresses) line += " address " + address.address.cidr();
    line += settings_of(*one);
    lines.push_back(std::move(line));
  }
  for (const auto& [netns, routes] : routes_) {
    for (const Route& route : routes)
      lines.push_back("netns " + std::to_string(netns) + " route " + route.destination.cidr() +
                      (route.table == 254 ? "" : " table " + std::to_string(route.table)));
  }
  for (const auto& [netns, rules] : rules_) {
    for (const RoutingRule& rule : rules) {
      lines.push_back("netns " + std::to_string(netns) + " rule from " + rule.source.cidr() + " lookup " +
                      std::to_string(rule.table));
    }
  }
  for (const FakeRdma& rdma : rdma_) {
    lines.push_back("netns " + std::to_string(rdma.netns) + " rdma " + rdma.device.name + " uverbs" +
                    std::to_string(rdma.uverbs) + " umad" + std::to_string(rdma.umad));
  }
  for (const auto& pf : pfs_) {
    for (size_t i = 0; i < pf->vfs.size(); ++i)
      lines.push_back("VF " + pf->vfs[i] + " " + pf->settings[i].text());
  }
  std::sort(lines.begin(), lines.end());
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

void FakeWorld::forget_faults() {
  fault_ = {};
  kill_ = 0;
  log_.clear();
}

Result<> FakeWorld::enter(const std::string& call) {
  // After the kill no call reaches the node any more: destructors may still try.
  if (kill_ > 0 && calls() >= kill_) return refuse(ESRCH);
  log_.push_back(call);
  if (const auto what = before_call) what(call);  // a copy: it may end itself
  if (calls() == kill_) throw Killed{};
  if (calls() == fault_.number && fault_.when == When::before) return refuse(fault_.error);
  return {};
}

Result<> FakeWorld::leave() {
  if (calls() == fault_.number && fault_.when == When::after) return refuse(fault_.error);
  return {};
}

FakeLink* FakeWorld::find(int netns, std::string_view name) {
  for (auto& link : links_) {
    const auto& altnames = link->link.altnames;
    const bool named =
        link->link.name == name || std::find(altnames.begin(), altnames.end(), name) != altnames.end();
    if (link->netns == netns && named) return link.get();
  }
  return nullptr;
}

FakeLink* FakeWorld::find(int netns, int index) {
  for (auto& link : links_) {
    if (link->netns == netns && link->link.index == index) return link.get();
  }
  return nullptr;
}

bool FakeWorld::name_in_use(int netns, std::string_view name, const FakeLink* except) const {
  return std::any_of(links_.begin(), links_.end(), [&](const auto& link) {
    const auto& altnames = link->link.altnames;
    const bool named =
        link->link.name == name || std::find(altnames.begin(), altnames.end(), name) != altnames.end();
    return link.get() != except && link->netns == netns && named;
  });
}

int FakeWorld::free_index(int netns) const {
  int index = 2;  // 1 is lo
  for (const auto& link : links_) {
    if (link->netns == netns) index = std::max(index, link->link.index + 1);
  }
  return index;
}

// The name is kept; `fallback` is for when it is taken. The index is kept if it is free, the rest is reset.
Result<> FakeWorld::move_to(FakeLink& link, int netns, const std::optional<std::string>& fallback) {
  if (name_in_use(netns, link.link.name, nullptr)) {
    std::string name = fallback.value_or(link.link.name);
    for (int i = 0; name.find('%') != std::string::npos && i < 1000; ++i) {
      if (!name_in_use(netns, "dev" + std::to_string(i), nullptr)) name = "dev" + std::to_string(i);
    }
    if (name_in_use(netns, name, nullptr)) return refuse(EEXIST);
    link.link.name = *IfName::parse(name);
  }
  for (const std::string& name : link.link.altnames) {
    if (name_in_use(netns, name, nullptr)) return refuse(EEXIST);
  }
  std::erase_if(routes_[link.netns], [&](const Route& route) { return route.link == link.link.index; });
  if (find(netns, link.link.index) != nullptr) link.link.index = free_index(netns);
  link.netns = netns;
  if (link.link.up()) reset(link);
  link.link.flags &= ~(kUp | kLowerUp);
  link.addresses.clear();
  return {};
}

// ib_uverbs_add_one() and ib_umad_add_one(): the lowest number that no device has, after it has given up its
// own.
void FakeWorld::renumber(FakeRdma& rdma) {
  const auto lowest_free = [&](int FakeRdma::*number) {
    int candidate = 0;
    const auto taken = [&](const FakeRdma& other) { return &other != &rdma && other.*number == candidate; };
    while (std::any_of(rdma_.begin(), rdma_.end(), taken)) ++candidate;
    return candidate;
  };
  rdma.uverbs = lowest_free(&FakeRdma::uverbs);
  rdma.umad = lowest_free(&FakeRdma::umad);
}

void FakeWorld::begin_rdma_move(const std::string& name, int to, int lists) {
  FakeRdma& moved = rdma(name);
  moved.netns = kNowhere;
  moved.uverbs = moved.umad = -1;
  moved.moves_to = to;
  moved.lists_until_there = lists;
  write_sysfs();
}

void FakeWorld::go_on_with_rdma_moves() {
  for (FakeRdma& moved : rdma_) {
    if (!moved.moves_to || --moved.lists_until_there > 0) continue;
    moved.netns = *std::exchange(moved.moves_to, std::nullopt);
    renumber(moved);
    write_sysfs();
  }
}

void FakeWorld::follow_gids() {
  for (FakeRdma& rdma : rdma_) {
    const auto link = std::find_if(links_.begin(), links_.end(),
                                   [&](const auto& one) { return one->link.parent_device == rdma.pci; });
    if (link == links_.end() || (*link)->link.ipoib() || !rdma.makes_gids) continue;
    std::vector<IpAddress> addresses;
    for (const LinkAddress& one : (*link)->addresses) addresses.push_back(one.address);
    rdma.gids.follow((*link)->link.mac, (*link)->link.name, addresses);
  }
}

void FakeWorld::write_sysfs() const {
  const fs::path devices = root_ + "/sys/bus/pci/devices";
  const fs::path verbs = root_ + "/sys/class/infiniband_verbs";
  fs::remove_all(devices);
  fs::remove_all(verbs);
  fs::create_directories(devices);
  for (const auto& [pci, driver] : pci_driver_) {
    fs::create_directories(devices / pci);
    if (driver.empty()) continue;
    const fs::path of_driver = root_ + "/sys/bus/pci/drivers/" + driver;
    fs::create_directories(of_driver);
    if (keeps_drivers_bound) fs::remove(of_driver / "unbind");
    if (!keeps_drivers_bound) std::ofstream(of_driver / "unbind");
    fs::create_symlink("../../../../bus/pci/drivers/" + driver, devices / pci / "driver");
    if (has_flr) std::ofstream(devices / pci / "reset");
  }
  for (const auto& link : links_) {
    if (link->netns != kHost || !link->hardware) continue;
    const fs::path folder = devices / link->link.parent_device / "net" / link->link.name.text();
    fs::create_directories(folder);
    std::ofstream(folder / "dev_port") << link->dev_port << "\n";
    std::ofstream(folder / "ifindex") << link->link.index << "\n";
  }
  for (const auto& pf : pfs_) {
    for (size_t i = 0; i < pf->vfs.size(); ++i) {
      fs::create_symlink("../" + pf->vfs[i], devices / pf->pci / ("virtfn" + std::to_string(i)));
      fs::create_symlink("../" + pf->pci, devices / pf->vfs[i] / "physfn");
    }
  }
  for (const FakeRdma& rdma : rdma_) {
    if (rdma.netns == kNowhere) continue;
    const fs::path folder = devices / rdma.pci;
    // The kernel fails to list a folder with a name like "a/b" (verify_dirent_name()).
    const bool listed = rdma.device.has_sound_name();
    if (listed && (rdma.netns == kHost || rdma_mode == RdmaNetnsMode::shared)) {
      fs::create_directories(folder / "infiniband" / rdma.device.name.text() / "ports/1");
      std::ofstream(folder / "infiniband" / rdma.device.name.text() / "ports/1/link_layer")
          << rdma.link_layer << "\n";
      if (rdma_mode == RdmaNetnsMode::shared)
        rdma.gids.write(folder / "infiniband" / rdma.device.name.text() / "ports/1");
    }
    // Not tagged with the namespace: the host goes on seeing them.
    fs::create_directories(folder / "infiniband_mad" / ("umad" + std::to_string(rdma.umad)));
    const std::string uverbs = "uverbs" + std::to_string(rdma.uverbs);
    for (const fs::path& node : {folder / "infiniband_verbs" / uverbs, verbs / uverbs}) {
      fs::create_directories(node);
      std::ofstream(node / "ibdev") << rdma.device.name.text() << "\n";
    }
  }
}

}  // namespace vfrail::test

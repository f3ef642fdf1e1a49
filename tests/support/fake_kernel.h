// FakeWorld: a node in memory that keeps the kernel's rules for what vfrail does to it (names, moves, what a
// move resets, RDMA numbering, the end of a namespace), with a sysfs tree of what the host sees. FakeKernel
// is Kernel over one of its namespaces. kernel_contract.h holds it to the real kernel's behaviour.
//
// Each call of a Kernel counts. One call can be made to fail, before or after it took effect, or to be the
// last one of its process (Killed is thrown, and every destructor runs, but nothing more reaches the node).
#pragma once

#include "common/kernel/kernel.h"
#include "common/kernel/upper_links.h"
#include "tests/support/fake_gids.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace vfrail::test {

struct Killed {};

struct FakeLink {
  Link link;
  int netns = 1;
  std::vector<LinkAddress> addresses;
  bool hardware = false;
  int dev_port = 0;
  MacAddress reported;  // the address that it got from its PF when it was last set down
  bool plugged = true;  // has carrier as soon as it is up
  TrafficCounters traffic;
  FakeLink* stands_on = nullptr;      // of a macvlan, VLAN, ...
  std::vector<std::string> programs;  // BPF programs that stay over a move
  // What its driver lets ethtool(8) see and set. A move leaves it alone.
  std::map<EthtoolGroup, EthtoolSettings> ethtool = {
      {EthtoolGroup::rings, {.numbers = {{"rx", 256}, {"tx", 256}}}},
      {EthtoolGroup::features, {.bits = {0x4000'4000, 0x10}, .bit_count = 64}}};
  std::set<EthtoolGroup> refuses = {};  // EOPNOTSUPP to a change
};

struct FakeRdma {
  RdmaDevice device;
  std::string pci;
  int netns = 1;
  int uverbs = 0;
  int umad = 0;
  std::vector<NamedCounter> counters;             // of its one port; empty: the driver has none
  std::vector<NamedCounter> sysfs_counters = {};  // those that netlink does not have
  FakeGids gids = FakeGids();
  std::string link_layer = "Ethernet";
  bool makes_gids = true;            // false: as a kernel that has not got to it
  std::optional<int> moves_to = {};  // FakeWorld::begin_rdma_move()
  int lists_until_there = 0;
};

// A PF with the settings of its VFs, number by number.
struct FakePf {
  std::string pci;
  std::string name;
  std::vector<std::string> vfs;
  std::vector<VfSettings> settings;
  std::map<uint32_t, TrafficCounters> traffic = {};  // VF -> what the driver reports of it; zeros if nothing
  // What the driver refuses (EOPNOTSUPP) when a change has it, whatever the value.
  VfSettings refuses = {};
  bool reports_guids = true;  // kernels before 5.5 set them, but do not report them
};

class FakeWorld {
 public:
  static constexpr int kHost = 1;

  // sysfs is kept below `root`.
  explicit FakeWorld(std::string root);

  // A PF with its netdev.
  FakePf& add_pf(const std::string& pci, const std::string& name);
  // A VF with its netdev, bound to a driver. Without a PF, as inside a VM, nobody can change its settings.
  void add_vf(const std::string& pci, const std::string& name, const std::string& pf = "");
  // One more netdev of the same function.
  void add_port(const std::string& pci, const std::string& name, int dev_port);
  // The same for InfiniBand: its address ends in its GUID, which is the PF's to set and taken over at the
  // next bind.
  void add_ib_vf(const std::string& pci, const std::string& name, const std::string& pf);
  // Takes the VF from its driver and gives it to user space: it has no netdev then.
  void give_to_vfio(const std::string& pci);
  // As writing a smaller number to the PF's sriov_numvfs: the VF and all that it had are gone, wherever it
  // was.
  void destroy_vf(const std::string& pci);
  // Unbinds and binds the driver: netdev and RDMA device end, wherever they are, and new ones come up in the
  // host. With `probe_fails` no driver is bound then, and they are nowhere until the next time.
  Result<> rebind(const std::string& pci);
  VfSettings& vf(const std::string& pci);
  void add_rdma(const std::string& pci, const std::string& name);
  void add_veth(int netns, const std::string& name);
  void add_loopback(int netns);  // where it matters that each namespace has one
  // A macvlan on a link of that namespace.
  void stack(int netns, const std::string& lower, const std::string& name);
  // As `ip link set NAME netns TO`.
  void move(int netns, const std::string& name, int to);
  // What RTM_NEWLINK does, without its checks.
  void add_child(FakeLink& below, int netns, const NewLink& wanted);
  void promiscuous(int netns, const std::string& name, uint32_t times) {
    find(netns, name)->link.promiscuity = times;
  }
  void attach_program(int netns, const std::string& link, const std::string& program) {
    find(netns, link)->programs.push_back(program);
  }
  Link& link(const std::string& name);  // in the host
  // The same with what a kernel keeps beside it; in any namespace.
  FakeLink& fake_link(int netns, const std::string& name);
  FakeRdma& rdma(const std::string& name);
  // A move that takes as long as so many lists of RDMA devices, in any namespace. Meanwhile the kernel shows
  // neither its name nor its nodes anywhere (between disable_device() and device_rename()).
  void begin_rdma_move(const std::string& name, int to, int lists);
  FakePf& pf(const std::string& pci);
  void set_flags(int netns, const std::string& name, uint32_t flags) {
    find(netns, name)->link.flags = flags;
  }

  int add_netns(const std::string& path);
  // As cleanup_net(): hardware and RDMA devices go to the host, the rest ends.
  void end_netns(const std::string& path);
  // The namespace lives on, and only the other path leads to it.
  void rename_path(const std::string& from, const std::string& to) {
    netns_[to] = netns_.at(from);
    netns_.erase(from);
  }
  std::optional<int> netns_at(const std::string& path) const;

  std::unique_ptr<Kernel> open(int netns);
  // For World::open_netns.
  Result<std::unique_ptr<Kernel>> open_path(const std::string& path);

  // Everything a user could notice: every link, address, route and RDMA device of every namespace.
  std::string snapshot() const;

  enum class When : uint8_t { before, after };
  void fail_call(int number, int error, When when) { fault_ = {number, error, when}; }
  void kill_call(int number) { kill_ = number; }
  void forget_faults();  // and counts from zero
  int calls() const { return static_cast<int>(log_.size()); }
  const std::vector<std::string>& log() const { return log_; }

  RdmaNetnsMode rdma_mode = RdmaNetnsMode::exclusive;
  // Names of RDMA devices are unique in a namespace only, as since Linux 7.
  bool rdma_names_by_netns = false;
  // IPoIB makes its netdev in the namespace of the RDMA device, as since Linux 6.17, and not in the host.
  bool ipoib_beside_rdma = false;
  // The end of its namespace moves an IPoIB interface of a partition to the host, as on Linux 6.12 and 7.3.
  bool ipoib_children_return = true;
  // Drivers have no file "unbind" (suppress_bind_attrs).
  bool keeps_drivers_bound = false;
  bool has_flr = true;                  // functions have a file `reset`
  std::set<std::string> missing_kinds;  // of interfaces, whose module the kernel does not have
  // Namespaces (of add_netns()) in which a link-local address is not made of the MAC.
  std::set<int> stable_privacy;
  bool no_ipv6 = false;                // of the kernel
  bool reports_parents = true;         // not before Linux 5.14, where a driver does not answer ethtool either
  std::vector<std::string> announced;  // "10.9.0.2 at 02:00:00:00:00:07"
  bool probe_fails = false;
  std::set<int>
      churning;       // namespaces whose links change all the time, so that each list of them is interrupted
  int bpf_error = 0;  // of a search for programs
  int ethtool_error = 0;  // of each read, as ENODEV while a driver resets its device
  std::function<void()> at_ethtool;
  std::function<void(const std::string& call)> before_call;  // of each, as calls() has it
  bool names_only_down = false;  // before Linux 6.2 an interface that is up is not renamed
  // So many lists of RDMA devices miss the first one, as while other devices move.
  int rdma_lists_with_a_gap = 0;
  // Runs when a caller waits for something that is not there yet: the time in which a namespace ends.
  std::function<void()> while_waiting;
  int link_changes_while_waiting = 0;  // of other links, each of which the caller is asked about

 private:
  friend class FakeKernel;
  struct Fault {
    int number = 0;
    int error = 0;
    When when = When::before;
  };

  Result<> enter(const std::string& call);
  Result<> leave();  // the fault of the same call, after it took effect
  FakeLink* find(int netns, std::string_view name);
  FakeLink* find(int netns, int index);
  bool name_in_use(int netns, std::string_view name, const FakeLink* except) const;
  int free_index(int netns) const;
  bool rdma_name_in_use(const FakeRdma& except, std::string_view name, int netns) const;
  // As the kernel describes it in its namespace.
  Link described(const FakeLink& link) const;
  // With what stands on it.
  void remove(const FakeLink* link);
  void remove_all(const std::function<bool(const FakeLink&)>& which);
  Result<> move_to(FakeLink& link, int netns, const std::optional<std::string>& fallback);
  void renumber(FakeRdma& rdma);
  void go_on_with_rdma_moves();
  void follow_gids();
  FakePf* find_pf(int link);
  // The settings of the VF with that address; null if it has no PF.
  VfSettings* find_vf(const std::string& pci);
  // Setting a VF down resets it, and it then gets its address from its PF (igbvf_down()).
  void reset(FakeLink& link);
  void recreate_netdev(const std::string& pci, int netns = kHost);
  void recreate_ipoib(const FakeRdma& rdma);
  void write_sysfs() const;

  std::string root_;
  std::map<std::string, int> netns_;
  int next_netns_ = 2;
  std::vector<std::unique_ptr<FakeLink>> links_;
  std::vector<FakeRdma> rdma_;
  std::vector<std::unique_ptr<FakePf>> pfs_;
  std::map<std::string, std::string> pci_driver_;
  std::map<int, std::vector<Route>> routes_;
  std::map<int, std::vector<RoutingRule>> rules_;  // beside those that every namespace has
  std::map<std::string, std::string> sysctls_;
  std::vector<std::string> log_;
  Fault fault_;
  int kill_ = 0;
};

}  // namespace vfrail::test

// FakeWorld: a node in memory that keeps the kernel's rules for what vfrail does to it (names, moves, what a
// move resets, RDMA numbering, the end of a namespace), with a sysfs tree of what the host sees. FakeKernel
// is Kernel over one of its namespaces. kernel_contract.h holds it to the real kernel's behaviour.
//
// Each call of a Kernel counts. One call can be made to fail, before or after it took effect, or to be the
// last one of its process (Killed is thrown, and every destructor runs, but nothing more reaches the node).
#pragma once

#include "common/kernel.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
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
};

struct FakeRdma {
  RdmaDevice device;
  std::string pci;
  int netns = 1;
  int uverbs = 0;
  int umad = 0;
};

class FakeWorld {
 public:
  static constexpr int kHost = 1;

  // sysfs is kept below `root`.
  explicit FakeWorld(std::string root);

  // A VF with its netdev, bound to a driver; sorted index order. Again with the same address: one more
  // netdev.
  void add_vf(const std::string& pci, const std::string& name, int dev_port = 0);
  void add_rdma(const std::string& pci, const std::string& name);
  void add_veth(int netns, const std::string& name);
  Link& link(const std::string& name);  // in the host
  FakeRdma& rdma(const std::string& name);

  int add_netns(const std::string& path);
  // As cleanup_net(): hardware and RDMA devices go to the host, the rest ends.
  void end_netns(const std::string& path);
  std::optional<int> netns_at(const std::string& path) const;

  std::unique_ptr<Kernel> open(int netns);
  // For World::open_netns.
  Result<std::unique_ptr<Kernel>> open_path(const std::string& path);

  // Everything a user could notice: every link, address, route and RDMA device of every namespace.
  std::string snapshot() const;

  enum class When : uint8_t { before, after };
  void fail_call(int number, int error, When when) { fault_ = {number, error, when}; }
  void kill_call(int number) { kill_ = number; }
  void forget_faults();  // and begins to count anew
  int calls() const { return static_cast<int>(log_.size()); }
  const std::vector<std::string>& log() const { return log_; }

  RdmaNetnsMode rdma_mode = RdmaNetnsMode::exclusive;
  // So many lists of RDMA devices miss the first one, as while other devices move.
  int rdma_lists_with_a_gap = 0;
  // Runs when a caller waits for something that is not there yet: the time in which a namespace ends.
  std::function<void()> while_waiting;

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
  Result<> move_to(FakeLink& link, int netns, const std::optional<std::string>& fallback);
  void renumber(FakeRdma& rdma);
  void write_sysfs() const;

  std::string root_;
  std::map<std::string, int> netns_;
  int next_netns_ = 2;
  std::vector<std::unique_ptr<FakeLink>> links_;
  std::vector<FakeRdma> rdma_;
  std::map<std::string, std::string> pci_driver_;
  std::map<int, std::vector<Route>> routes_;
  std::map<std::string, std::string> sysctls_;
  std::vector<std::string> log_;
  Fault fault_;
  int kill_ = 0;
};

}  // namespace vfrail::test

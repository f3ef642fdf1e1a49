#include "cni/device.h"
#include "cni/steps.h"
#include "common/text.h"

#include <algorithm>
#include <thread>

namespace vfrail {

namespace {

// A number that another device held for a moment only can be had by moving again; more tries than this mean
// that it is held for good.
constexpr int kMaxMoves = 3;
// A move takes some ms; every pod of the node may be in the queue.
constexpr std::chrono::milliseconds kLockTimeout{30'000};

// The index stays the same over a move, so the device needs not be looked for again.
Result<> move_all(const std::vector<RdmaDevice>& devices, Kernel& from, Kernel& to) {
  for (const RdmaDevice& device : devices) {
    TRY(from.move_rdma_device(device.index, to.netns_fd()), "move RDMA device " + device.name);
  }
  return {};
}

bool node_is_free(const SysRoot& sys, const std::string& node) {
  const std::string kind = node.starts_with("uverbs") ? "infiniband_verbs" : "infiniband_mad";
  return !sys.exists("sys/class/" + kind + "/" + node);
}

// Moving again gives the wanted numbers only if they are free now: the kernel takes the lowest.
bool worth_another_move(const SysRoot& sys, const std::vector<std::string>& wanted,
                        const std::vector<std::string>& have) {
  if (wanted.size() != have.size()) return false;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] == have[i]) continue;
    const bool lower =
        wanted[i].size() < have[i].size() || (wanted[i].size() == have[i].size() && wanted[i] < have[i]);
    if (!lower || !node_is_free(sys, wanted[i])) return false;
  }
  return true;
}

}  // namespace

Result<> move_rdma(const Record& record, const AttachPlan& plan, Kernel& pod, World& world) {
  if (record.rdma.empty()) return {};
  const auto lock = TRY(world.store.lock_rdma(kLockTimeout), "wait for the RDMA move of another pod");
  std::vector<std::string> have;
  for (int moves = 1;; ++moves) {
    TRY(move_all(plan.rdma, world.host, pod), "");
    if (!record.device || plan.nodes.empty()) return {};  // no container was told a node
    have = read_rdma_nodes(world.sys, *record.device);
    if (have == plan.nodes) return {};
    if (moves == kMaxMoves || !worth_another_move(world.sys, plan.nodes, have)) break;
    TRY(move_all(plan.rdma, pod, world.host), "move back to try again");
  }
  return Error{Errc::busy, 0,
               "the kernel gave " + joined(record.rdma) + " of " + record.device_key + " the device nodes " +
                   joined(have) + " when it moved into the pod, but the container was told " +
                   joined(plan.nodes) +
                   ", which now is no device's or another's; delete the pod, so that kubelet allocates anew"};
}

namespace {

// In the host under its name, or under another that udev gave it on its return; or nothing is left to come,
// because the device has no RDMA device any more (driver unbound).
Result<bool> is_home(const std::string& name, const Record& record, const World& world) {
  if (TRY(world.host.find_rdma_device(name), "look for RDMA device " + name)) return true;
  if (!record.device) return false;
  const Device now = read_device(world.sys, *record.device);
  return now.rdma.size() >= record.rdma.size() || now.nodes.empty();
}

// Moves those that the pod has; what comes back is not there: on its way home by itself, at home, or gone.
Result<std::vector<std::string>> send_home(std::vector<std::string> names, Kernel& pod, World& world) {
  const auto lock = TRY(world.store.lock_rdma(kLockTimeout), "wait for the RDMA move of another pod");
  for (const RdmaDevice& device : TRY(pod.rdma_devices(), "look for the RDMA devices of the pod")) {
    if (std::erase(names, device.name) == 0) continue;
    TRY(pod.move_rdma_device(device.index, world.host.netns_fd()),
        "bring RDMA device " + device.name + " back");
  }
  return names;
}

}  // namespace

Result<> bring_rdma_back(const Record& record, Kernel* pod, World& world) {
  std::vector<std::string> missing = record.rdma;
  // An ADD that was killed in the move has left the lock's file, which goes with ours; send_home() takes it,
  // too.
  if (pod == nullptr && !missing.empty())
    TRY(world.store.lock_rdma(kLockTimeout), "wait for the RDMA move of another pod");
  // From an ended namespace the kernel brings them back (rdma_dev_exit_net()) and announces nothing, so they
  // are looked for; in the pod, too, because a list can miss one (Kernel::rdma_devices()).
  const auto deadline = std::chrono::steady_clock::now() + world.return_timeout;
  for (;;) {
    if (pod != nullptr && !missing.empty()) missing = TRY(send_home(std::move(missing), *pod, world), "");
    std::vector<std::string> away;
    for (const std::string& name : missing) {
      if (!TRY(is_home(name, record, world), "")) away.push_back(name);
    }
    missing = std::move(away);
    if (missing.empty()) return {};
    if (std::chrono::steady_clock::now() >= deadline) {
      return Error{Errc::busy, 0,
                   "RDMA device " + joined(missing) + " of " + record.device_key +
                       " has not come back within " + std::to_string(world.return_timeout.count()) +
                       " ms: a process still holds the namespace that it is in"};
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace vfrail

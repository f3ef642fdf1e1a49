#include "cni/device.h"
#include "cni/steps.h"
#include "common/text.h"

#include <algorithm>
#include <cerrno>
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

Result<> move_with_nodes(const Record& record, const AttachPlan& plan, Kernel& pod, World& world) {
  std::vector<std::string> have;
  for (int moves = 1;; ++moves) {
    TRY(move_all(plan.rdma, world.host, pod), "");
    if (!record.device || plan.nodes.empty()) return {};  // no container was told a node by kubelet
    have = TRY(read_rdma_nodes(world.sys, *record.device), "read the device nodes of " + record.device_key);
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

Result<> rename_in_pod(const AttachPlan& plan, Kernel& pod) {
  for (size_t i = 0; i < plan.rdma_in_pod.size(); ++i) {
    const RdmaDevice& device = plan.rdma[i];
    if (device.name == plan.rdma_in_pod[i]) continue;
    TRY(pod.rename_rdma_device(device.index, plan.rdma_in_pod[i]),
        "call RDMA device " + device.name + " " + plan.rdma_in_pod[i] +
            " in the pod (a name can be had once on a node)");
  }
  return {};
}

// A device that moves: what it is called in the host and in the pod.
struct Names {
  std::string host;
  std::string pod;
};

// The device is in the host under the pod's name: its namespace has ended, or the pod did not rename it.
// False: it is to be looked for again.
Result<bool> rename_at_home(const Names& names, World& world) {
  const auto device = TRY(world.host.find_rdma_device(names.pod), "look for RDMA device " + names.pod);
  if (!device) return false;
  auto renamed = world.host.rename_rdma_device(device->index, names.host);
  if (renamed) return true;
  if (renamed.error().sys != EEXIST) return std::move(renamed.error()).in("call it " + names.host + " again");
  world.log.warning("the RDMA device comes home under the name that it had in the pod, its own is taken",
                    {{"name", names.pod}, {"taken", names.host}});
  return true;
}

// In the host under its name, or under another that udev gave it on its return; or nothing is left to come,
// because the device has no RDMA device any more (driver unbound).
Result<bool> is_home(const Names& names, const Record& record, World& world) {
  // Only who was never renamed cannot have lost the name to another device meanwhile.
  const bool renamed = names.pod != names.host;
  if (!renamed && TRY(world.host.find_rdma_device(names.host), "look for RDMA device " + names.host))
    return true;
  if (!record.device) return false;
  const Device now = read_device(world.sys, *record.device);
  const auto has = [&](const std::string& name) {
    return std::find(now.rdma.begin(), now.rdma.end(), name) != now.rdma.end();
  };
  if (has(names.host)) return true;
  if (renamed && has(names.pod)) return rename_at_home(names, world);
  return now.rdma.size() >= record.rdma.size() || now.nodes.empty();
}

// Moves those that the pod has; what comes back is not there: on its way home by itself, at home, or gone.
Result<std::vector<Names>> send_home(std::vector<Names> missing, const Record& record, Kernel& pod,
                                     World& world) {
  const auto lock = TRY(world.store.lock_rdma(kLockTimeout), "wait for the RDMA move of another pod");
  // A name in the host that was given up for another in the pod can be another device's by now.
  const auto own = record.device ? read_rdma_names(world.sys, *record.device) : std::vector<std::string>();
  for (const RdmaDevice& device : TRY(pod.rdma_devices(), "look for the RDMA devices of the pod")) {
    const bool ours = own.empty() || std::find(own.begin(), own.end(), device.name) != own.end();
    const auto at = std::find_if(missing.begin(), missing.end(), [&](const Names& names) {
      return device.name == names.pod || device.name == names.host;
    });
    if (!ours || at == missing.end()) continue;
    // Before the move, so that the host's udev never sees the other name. If it fails, is_home() does it.
    const bool renames = device.name != at->host;
    const bool renamed = renames && pod.rename_rdma_device(device.index, at->host);
    TRY(pod.move_rdma_device(device.index, world.host.netns_fd()),
        "bring RDMA device " + device.name + " back");
    if (!renames || renamed) missing.erase(at);
  }
  return missing;
}

std::string host_names(const std::vector<Names>& all) {
  std::vector<std::string> out;
  for (const Names& names : all) out.push_back(names.host);
  return joined(out);
}

}  // namespace

Result<> move_rdma(const Record& record, const AttachPlan& plan, Kernel& pod, World& world) {
  if (record.rdma.empty()) return {};
  const auto lock = TRY(world.store.lock_rdma(kLockTimeout), "wait for the RDMA move of another pod");
  TRY(move_with_nodes(record, plan, pod, world), "");
  return rename_in_pod(plan, pod);
}

Result<std::optional<RdmaDevice>> find_rdma_in_pod(const Record& record, size_t i, Kernel& pod) {
  auto device = TRY(pod.find_rdma_device(record.rdma_name_in_pod(i)), "");
  if (device || record.rdma_in_pod.empty()) return device;
  return pod.find_rdma_device(record.rdma[i]);
}

Result<> bring_rdma_back(const Record& record, Kernel* pod, World& world) {
  std::vector<Names> missing;
  for (size_t i = 0; i < record.rdma.size(); ++i)
    missing.push_back({record.rdma[i], record.rdma_name_in_pod(i)});
  // An ADD that was killed in the move has left the lock's file, which goes with ours; send_home() takes it,
  // too.
  if (pod == nullptr && !missing.empty())
    TRY(world.store.lock_rdma(kLockTimeout), "wait for the RDMA move of another pod");
  // From an ended namespace the kernel brings them back (rdma_dev_exit_net()) and announces nothing, so they
  // are looked for; in the pod, too, because a list can miss one (Kernel::rdma_devices()).
  const auto deadline = std::chrono::steady_clock::now() + world.return_timeout;
  for (;;) {
    if (pod != nullptr && !missing.empty())
      missing = TRY(send_home(std::move(missing), record, *pod, world), "");
    std::vector<Names> away;
    for (const Names& names : missing) {
      if (!TRY(is_home(names, record, world), "")) away.push_back(names);
    }
    missing = std::move(away);
    if (missing.empty()) return {};
    if (std::chrono::steady_clock::now() >= deadline) {
      return Error{Errc::busy, 0,
                   "RDMA device " + host_names(missing) + " of " + record.device_key +
                       " has not come back within " + std::to_string(world.return_timeout.count()) +
                       " ms: a process still holds the namespace that it is in"};
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace vfrail

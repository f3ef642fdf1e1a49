#include "cni/steps/rdma_steps.h"

#include "cni/node/device.h"
#include "cni/node/hidden_namespaces.h"
#include "cni/node/namespaces.h"
#include "cni/steps/name_step.h"
#include "cni/steps/wait_step.h"
#include "common/errors/error_id.h"
#include "common/text.h"

#include <algorithm>
#include <cerrno>
#include <thread>

namespace vfrail::cni {

namespace {

// Moving again gets a number that another device held for a moment; after so many tries it is held
// permanently.
constexpr int kMaxMoves = 3;
// A move takes some ms, and every pod of the node may be waiting.
constexpr std::chrono::milliseconds kLockTimeout{30'000};

std::string host_names(const std::vector<MovedRdma>& all) {
  std::vector<std::string> out;
  for (const MovedRdma& one : all) out.push_back(one.name);
  return joined(out);
}

bool is_named(const std::vector<MovedRdma>& all, const std::string& name) {
  return std::any_of(all.begin(), all.end(), [&](const MovedRdma& one) { return one.name == name; });
}

// The index does not change with a move, so the device need not be found again.
Result<> move_all(const std::vector<PlannedRdma>& all, Kernel& from, Kernel& to) {
  for (const auto& [device, in_pod] : all) {
    TRY(from.move_rdma_device(device.index, to.netns_fd()), device.name);
  }
  return {};
}

Result<bool> node_is_free(const SysRoot& sys, const std::string& node) {
  const std::string kind = node.starts_with("uverbs") ? "infiniband_verbs" : "infiniband_mad";
  return !TRY(sys.exists("sys/class/" + kind + "/" + node));
}

// Moving again gives the expected numbers only if they are free by now: the kernel takes the lowest.
Result<bool> worth_another_move(const SysRoot& sys, const std::vector<std::string>& wanted,
                                const std::vector<std::string>& have) {
  if (wanted.size() != have.size()) return false;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] == have[i]) continue;
    const bool lower =
        wanted[i].size() < have[i].size() || (wanted[i].size() == have[i].size() && wanted[i] < have[i]);
    if (!lower || !TRY(node_is_free(sys, wanted[i]))) return false;
  }
  return true;
}

Error nodes_changed(const std::string& device, const std::vector<std::string>& have,
                    const std::vector<std::string>& allocated, const std::string& when) {
  return {Errc::busy, 0,
          "the kernel gave " + device + " the device nodes " + joined(have) + " " + when +
              ", but the container was allocated " + joined(allocated) +
              ", which no longer exist or belong to another device; delete the pod, so that kubelet "
              "allocates again",
          ErrorId::rdma_nodes_changed};
}

Result<> move_with_nodes(const Record& record, const AttachPlan& plan, Kernel& pod, World& world) {
  std::vector<std::string> have;
  for (int moves = 1;; ++moves) {
    TRY(move_all(plan.rdma, world.host, pod));
    if (!record.device || plan.nodes.empty()) return {};  // kubelet allocated no node of it to a container
    have = TRY(read_rdma_nodes(world.sys, *record.device), "read the device nodes of " + record.device_key);
    if (have == plan.nodes) return {};
    if (moves == kMaxMoves || !TRY(worth_another_move(world.sys, plan.nodes, have))) break;
    TRY(move_all(plan.rdma, pod, world.host), "move back to try again");
  }
  return nodes_changed(host_names(record.rdma) + " of " + record.device_key, have, plan.nodes,
                       "when it moved into the pod");
}

// With messages of their own. nldev_set_doit() of Linux 6.12 returns when it has renamed, and does not look
// at the namespace then. That of 7.3 moves and renames in one, but which of them the kernel has is not known
// before a message more: the older one would have renamed the device in the host, and reported success.
// Nobody is in the pod yet who could see the other name.
Result<> rename_in_pod(const AttachPlan& plan, Kernel& pod) {
  for (const auto& [device, name] : plan.rdma) {
    if (device.name == name) continue;
    auto renamed = pod.rename_rdma_device(device.index, name);
    if (renamed) continue;
    const bool taken = renamed.error().sys == EEXIST;
    if (taken) renamed.error().specific = ErrorId::rdma_name_taken;
    return std::move(renamed.error())
        .in("rdmaName: rename " + device.name + " to " + name + " in the pod" +
            (taken ? " (another RDMA device of the node or, since Linux 7, of the pod has the name)" : ""));
  }
  return {};
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Which of `missing` the device is: by its index, or in an older version's record by its name, or because it
// belongs to the function (`own`: its present names) and only one is missing.
std::vector<MovedRdma>::iterator which(std::vector<MovedRdma>& missing, const RdmaDevice& device,
                                       const std::vector<std::string>& own) {
  const auto at = std::find_if(missing.begin(), missing.end(), [&](const MovedRdma& one) {
    if (one.index) return *one.index == device.index;
    const bool named = device.name == one.in_pod || device.name == one.name;
    return named && (own.empty() || contains(own, device.name));
  });
  if (at != missing.end() || missing.size() != 1 || missing.front().index) return at;
  return contains(own, device.name) ? missing.begin() : at;
}

Result<std::vector<std::string>> own_names(const Record& record, const World& world) {
  if (!record.device) return std::vector<std::string>();
  return read_rdma_names(world.sys, *record.device);
}

// The device is in the host, perhaps under the pod's name, or as "ibdev<index>" if its name was in use when
// its namespace ended (rdma_dev_change_netns() of Linux 7).
Result<> restore_name(const RdmaDevice& device, const MovedRdma& moved, const Record& record, World& world) {
  if (device.name == moved.name) return {};
  auto renamed = world.host.rename_rdma_device(device.index, moved.name);
  if (renamed) return {};
  if (renamed.error().sys != EEXIST)
    return std::move(renamed.error()).in("restore the name " + moved.name + " of RDMA device " + device.name);
  world.log.warning("the RDMA device was restored under another name, because its own is in use",
                    {{"device", record.device_key},
                     {"name", moved.name},
                     {"now", device.name},
                     {"id", id_text(ErrorId::host_name_taken)}});
  note_displaced_rdma(record, {moved.name, device.name, device.index}, world);
  return {};
}

// Where a device is that is not known to be in the pod.
enum class Whereabouts : uint8_t {
  in_host,
  nowhere,  // its driver is unbound, or one for user space is bound
  // The kernel shows none of the function: while it is moved, between disable_device() and device_rename()
  // (drivers/infiniband/core/device.c), for 0.6 s on a busy node; or for good, if the driver made it no more.
  unseen,
  away,
};

// Restores its name in the host.
Result<Whereabouts> find_out(const MovedRdma& moved, const Record& record, World& world) {
  const auto devices = TRY(world.host.rdma_devices(), "list the RDMA devices of the host");
  const auto named = [&](const std::string& name) {
    return std::find_if(devices.begin(), devices.end(),
                        [&](const RdmaDevice& device) { return device.name == name; });
  };
  for (const RdmaDevice& device : devices) {
    if (device.index != moved.index) continue;
    TRY(restore_name(device, moved, record, world));
    return Whereabouts::in_host;
  }
  if (!record.device) return named(moved.name) != devices.end() ? Whereabouts::in_host : Whereabouts::away;
  constexpr Facts kWanted = Facts::driver | Facts::rdma | Facts::verbs_nodes | Facts::mad_nodes;
  const auto now = TRY(read_device(world.sys, *record.device, kWanted)).value_or(Device());
  if (now.rdma.empty() && !now.misses_rdma())
    return now.driver.kind() == DriverKind::kernel ? Whereabouts::unseen : Whereabouts::nowhere;
  if (now.rdma.size() < record.rdma.size()) return Whereabouts::away;
  // A list can lack a device while others move (Kernel::rdma_devices()).
  const auto names = now.rdma_names();
  for (const std::string& name : names) {
    if (named(name) == devices.end()) return Whereabouts::away;
  }
  // Without its index: the driver was bound again, or the record is of an older version.
  std::vector<std::string> strange;
  for (const std::string& name : names) {
    if (name == moved.name) return Whereabouts::in_host;
    if (!is_named(record.rdma, name)) strange.push_back(name);
  }
  const bool by_name = contains(strange, moved.in_pod);
  if (by_name || strange.size() == 1)
    TRY(restore_name(*named(by_name ? moved.in_pod : strange.front()), moved, record, world));
  return Whereabouts::in_host;
}

// Linux 7 refuses a move to a name that the host's namespace has.
Result<> return_to_host(const RdmaDevice& device, Kernel& from, World& world) {
  auto moved = from.move_rdma_device(device.index, world.host.netns_fd());
  if (moved || moved.error().sys != EEXIST) return moved;
  // The name that the kernel itself chooses then.
  TRY(from.rename_rdma_device(device.index, "ibdev" + std::to_string(device.index)));
  return from.move_rdma_device(device.index, world.host.netns_fd());
}

// Moves the devices that the namespace has. find_out() restores their names if necessary.
Result<> return_all(const std::vector<MovedRdma>& all, const Record& record, Kernel& from, World& world) {
  const auto lock = TRY(world.store.lock_rdma(kLockTimeout), "wait for the RDMA move of another pod");
  std::vector<MovedRdma> missing = all;
  const auto own = TRY(own_names(record, world));
  for (const RdmaDevice& device : TRY(from.rdma_devices(), "find the RDMA devices of the pod")) {
    const auto at = which(missing, device, own);
    if (at == missing.end()) continue;
    // Before the move, so that the host's udev never sees the other name. If it fails, find_out() renames.
    if (device.name != at->name) static_cast<void>(from.rename_rdma_device(device.index, at->name));
    TRY(return_to_host(device, from, world), "bring RDMA device " + device.name + " back");
    missing.erase(at);
  }
  return {};
}

// The devices that DEL searches for.
class Missing {
 public:
  Missing(const Record& record, World& world) : record_(record), world_(world), devices_(record.rdma) {}

  const std::vector<MovedRdma>& devices() const { return devices_; }
  // Whether any of them still is; the others are forgotten.
  Result<bool> inspect_again() {
    std::vector<MovedRdma> out;
    for (MovedRdma& one : devices_) {
      const Whereabouts now = TRY(find_out(one, record_, world_));
      seen_ = seen_ || now == Whereabouts::away;
      if (now == Whereabouts::away || now == Whereabouts::unseen) out.push_back(std::move(one));
    }
    devices_ = std::move(out);
    return !devices_.empty();
  }
  // None was visible at any of these times, in any namespace.
  bool never_seen() const { return !seen_; }

 private:
  const Record& record_;
  World& world_;
  std::vector<MovedRdma> devices_;
  bool seen_ = false;
};

// What to do in a namespace that the pod can have moved it to. It is left in another pod's, see
// link_steps.cpp.
Result<NamespaceVisit> return_from_there(const std::vector<MovedRdma>& missing, const Record& record,
                                         World& world) {
  const auto own = TRY(own_names(record, world));
  return NamespaceVisit([missing, own, &record, &world](Kernel& other) -> Result<> {
    std::vector<MovedRdma> wanted = missing;
    const auto devices = TRY(other.rdma_devices(), "find the RDMA devices there");
    const bool has_any = std::any_of(devices.begin(), devices.end(), [&](const RdmaDevice& device) {
      return which(wanted, device, own) != wanted.end();
    });
    if (!has_any) return {};
    const auto sandboxes = TRY(find_other_sandboxes(record, world));
    const bool of_another =
        std::find(sandboxes.begin(), sandboxes.end(), other.netns_id()) != sandboxes.end();
    return of_another ? Result<>() : return_all(missing, record, other, world);
  });
}

Result<> return_from_anywhere(const std::vector<MovedRdma>& missing, const Record& record, World& world) {
  const auto visit = TRY(return_from_there(missing, record, world));
  return for_each_namespace(world, NetnsId{}, visit);
}

Result<> return_from_hidden(const std::vector<MovedRdma>& missing, const Record& record, World& world) {
  const auto visit = TRY(return_from_there(missing, record, world));
  return for_each_hidden_namespace(world, visit);
}

// No move takes that long.
Result<> warn_of_gone(const std::vector<MovedRdma>& missing, const Record& record, World& world) {
  world.log.warning(
      "the RDMA device no longer exists, so it cannot be restored",
      {{"device", record.device_key}, {"name", host_names(missing)}, {"id", id_text(ErrorId::device_gone)}});
  return {};
}

Error not_returned(const std::vector<MovedRdma>& missing, const Record& record, const World& world,
                   const Result<>& hidden) {
  std::string text =
      "RDMA device " + host_names(missing) + " of " + record.device_key + " has not returned within " +
      std::to_string(world.return_timeout.count()) +
      " ms: a process still holds the namespace that it is in, or another plugin has attached it";
  if (!hidden) text += "; " + hidden.error().text;
  return {Errc::busy, 0, std::move(text), ErrorId::device_not_returned};
}

}  // namespace

Result<> compare_nodes(const Record& record, const std::vector<std::string>& allocated, World& world) {
  if (allocated.empty() || !record.device) return {};
  const auto have =
      TRY(read_rdma_nodes(world.sys, *record.device), "read the device nodes of " + record.device_key);
  if (have == allocated) return {};
  return nodes_changed(record.device_key, have, allocated, "when its driver was bound again for the GUID");
}

Result<> move_rdma(const Record& record, const AttachPlan& plan, Kernel& pod, World& world) {
  if (record.rdma.empty()) return {};
  const auto lock = TRY(world.store.lock_rdma(kLockTimeout), "wait for the RDMA move of another pod");
  TRY(move_with_nodes(record, plan, pod, world));
  return rename_in_pod(plan, pod);
}

Result<std::optional<RdmaDevice>> find_rdma_in_pod(const Record& record, const MovedRdma& moved, Kernel& pod,
                                                   const World& world) {
  std::vector wanted{moved};
  const auto own = wanted.front().index ? std::vector<std::string>() : TRY(own_names(record, world));
  for (RdmaDevice& device : TRY(pod.rdma_devices())) {
    if (which(wanted, device, own) != wanted.end()) return std::optional<RdmaDevice>(std::move(device));
  }
  return std::optional<RdmaDevice>();
}

Result<> restore_rdma(const Record& record, Kernel* pod, World& world) {
  Missing missing(record, world);
  if (missing.devices().empty()) return {};
  // An ADD that was killed during the move has left the lock's file, which is removed with the lock.
  // return_all() takes it, too.
  if (pod == nullptr) TRY(world.store.lock_rdma(kLockTimeout), "wait for the RDMA move of another pod");
  // The kernel returns them from an ended namespace (rdma_dev_exit_net()) without a notification, so they are
  // polled for; in the pod, too, because a list can lack one (Kernel::rdma_devices()).
  const auto begin = std::chrono::steady_clock::now();
  const auto quickly = begin + std::min(kQuickReturn, world.return_timeout);
  const auto soon = begin + std::min(kUsualReturn, world.return_timeout);
  std::optional<Result<>> hidden;  // of the search in hidden namespaces
  for (bool searched = false;;) {
    if (pod != nullptr) TRY(return_all(missing.devices(), record, *pod, world));
    if (!TRY(missing.inspect_again())) return {};
    const auto now = std::chrono::steady_clock::now();
    const bool last = now >= begin + world.return_timeout;
    if ((!searched && now >= quickly) || last) {
      searched = true;
      auto fetched = return_from_anywhere(missing.devices(), record, world);
      if (!TRY(missing.inspect_again())) return {};
      // A namespace without any of them that cannot be listed is not a failure before the last time.
      if (last && !fetched && !is_incomplete_search(fetched.error())) return fetched;
    }
    if (!hidden && now >= soon) {
      hidden = return_from_hidden(missing.devices(), record, world);
      if (!TRY(missing.inspect_again())) return {};
    }
    if (last && missing.never_seen()) return warn_of_gone(missing.devices(), record, world);
    if (last) return not_returned(missing.devices(), record, world, *hidden);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace vfrail::cni

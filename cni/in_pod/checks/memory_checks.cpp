// Memory that a process may lock and use, and its rights.
#include "cni/in_pod/checks/pod_check.h"
#include "cni/in_pod/facts/gpus.h"
#include "cni/in_pod/probe/memory_probe.h"
#include "common/node/lock_limit.h"
#include "common/text.h"

#include <algorithm>
#include <cerrno>
#include <charconv>

namespace vfrail::pod {

namespace {

constexpr uint64_t kIpcLock = uint64_t{1} << 14;  // CAP_IPC_LOCK
constexpr uint64_t kSharedMemory = uint64_t{1} << 30;
constexpr uint64_t kMemoryForGpu = uint64_t{8} << 30;

std::string size_text(uint64_t bytes) {
  if (bytes >= kSharedMemory) return std::to_string(bytes >> 30) + " GiB";
  if (bytes >= uint64_t{1} << 20) return std::to_string(bytes >> 20) + " MiB";
  return std::to_string(bytes >> 10) + " KiB";
}

std::string limit_text(const LockLimit& limit) {
  return limit.unlimited ? "unlimited" : size_text(limit.bytes);
}

bool has_ipc_lock(const std::string& capabilities) {
  uint64_t out = 0;
  std::from_chars(capabilities.data(), capabilities.data() + capabilities.size(), out, 16);
  return (out & kIpcLock) != 0;
}

// The first user namespace maps all ids to themselves: "0 0 4294967295".
bool in_user_namespace(const std::string& uid_map) {
  const auto words = split(uid_map, " \t\n");
  return !words.empty() && words != std::vector<std::string>{"0", "0", "4294967295"};
}

struct LockFacts {
  std::optional<LockLimit> own;
  std::optional<LockLimit> first;  // of PID 1
  bool root = false;
  bool effective = false;  // CAP_IPC_LOCK
  bool bounding = false;
  bool user_namespace = false;
  // By the kernel's rule (can_do_mlock(), ib_umem_get()): the capability counts in the first user namespace.
  bool allows() const { return (effective && !user_namespace) || (own && own->allows(kProbedBytes)); }
};

Result<LockFacts> read_lock_facts(const SysRoot& sys) {
  LockFacts out;
  out.own = parse_lock_limit(TRY(sys.text("proc/self/limits")).value_or(""));
  out.first = parse_lock_limit(TRY(sys.text("proc/1/limits")).value_or(""));
  const std::string status = TRY(sys.text("proc/self/status")).value_or("");
  out.root = proc_field(status, "Uid") == "0";
  out.effective = has_ipc_lock(proc_field(status, "CapEff"));
  out.bounding = has_ipc_lock(proc_field(status, "CapBnd"));
  out.user_namespace = in_user_namespace(TRY(sys.text("proc/self/uid_map")).value_or(""));
  return out;
}

// IPC_LOCK in a pod's securityContext is in the bounding set; a user other than 0 does not get it from there.
std::string why_refused(const LockFacts& facts) {
  if (facts.effective && facts.user_namespace)
    return "; IPC_LOCK does not count in a user namespace (hostUsers: false)";
  if (!facts.root && facts.bounding)
    return "; IPC_LOCK is given to the container, but not to its user, who is not root";
  return facts.root ? "; root has no IPC_LOCK" : "";
}

std::string lock_remedy(const LockFacts& facts) {
  const std::string raise =
      "LimitMEMLOCK=infinity for the node's containerd.service, or a createRuntime hook: vfrail-cni hook "
      "memlock";
  if (facts.root && !facts.user_namespace) return "IPC_LOCK in the container's securityContext; or " + raise;
  return raise;
}

// The calls that failed, of the probes. EPERM and ENOMEM are mlock's words for it, EAGAIN an older kernel's.
std::string refused_call(const Probes& probes) {
  if (probes.lock.error != 0)
    return "mlock of " + size_text(probes.lock.bytes) + ": " + errno_text(probes.lock.error);
  for (const VerbsProbe& probe : probes.verbs) {
    if (probe.failed == "ibv_reg_mr")
      return probe.device + ": " + probe.failed + ": " + errno_text(probe.error);
  }
  return {};
}

// What was tried, and how far: without a device nothing was registered.
std::string what_works(const CheckedPod& pod, const LockFacts& facts) {
  const bool tried = pod.probes && pod.probes->lock.bytes > 0;
  std::string out = tried ? size_text(pod.probes->lock.bytes) + " can be locked"
                          : "this process may lock " +
                                (facts.effective ? "what it wants (IPC_LOCK)" : limit_text(*facts.own)) +
                                "; it was not tried";
  std::vector<std::string> devices;
  for (const VerbsProbe& probe : pod.probes ? pod.probes->verbs : std::vector<VerbsProbe>()) {
    if (probe.failed.empty()) devices.push_back(probe.device);
  }
  return out + (devices.empty() ? "" : ", and registered with " + first_few(devices));
}

Result<CheckResults> check_memlock(const CheckedPod& pod) {
  const LockFacts facts = TRY(read_lock_facts(pod.sys));
  if (!facts.own) return CheckResults{{Finding::unknown, pod.sys.path("proc/self/limits") + " is not there"}};
  const std::string refused = pod.probes ? refused_call(*pod.probes) : "";
  const bool tried = pod.probes && pod.probes->lock.bytes > 0;
  const bool fine =
      tried ? refused.empty() && (facts.allows() || pod.probes->lock.bytes >= kProbedBytes) : facts.allows();
  const std::string limit = "may lock " + limit_text(*facts.own);
  if (!fine) {
    // A process that was started by exec has the runtime's limit, and not what a hook gave to PID 1.
    if (facts.first && facts.first->allows(kProbedBytes) && !facts.own->allows(kProbedBytes))
      return CheckResults{{Finding::note,
                           "this process " + limit + ", and PID 1 " + limit_text(*facts.first) +
                               ": what kubectl exec starts does not have the container's limit",
                           "run RDMA programs as the container's command"}};
    return CheckResults{{Finding::fault,
                         "this process " + limit + why_refused(facts) +
                             (refused.empty() ? "" : " (" + refused + ")") +
                             ": memory cannot be registered with RDMA devices",
                         lock_remedy(facts)}};
  }
  if (facts.first && !facts.first->allows(kProbedBytes) && !facts.effective)
    return CheckResults{{Finding::advice,
                         "this process " + limit + ", and PID 1 " + limit_text(*facts.first) +
                             ": the container's command has the smaller limit",
                         lock_remedy(facts)}};
  return CheckResults{{Finding::good, what_works(pod, facts)}};
}

Result<CheckResults> check_rights(const CheckedPod& pod) {
  const std::string status = TRY(pod.sys.text("proc/self/status")).value_or("");
  CheckResults out;
  if (proc_field(status, "NoNewPrivs") == "1")
    out.push_back({Finding::note,
                   "NoNewPrivs is set: sudo, ping and sshd do not get the rights that their files give",
                   "allowPrivilegeEscalation: true, where a launcher such as mpirun over ssh needs them"});
  // Runtimes' own profiles allow what RDMA needs; another one may not.
  if (proc_field(status, "Seccomp") == "1")
    out.push_back({Finding::note, "seccomp is in strict mode: only read, write and exit are allowed",
                   "seccompProfile: RuntimeDefault"});
  return out;
}

// The size of the file system that a path is on, by /proc/self/mounts; a tmpfs without a size has half the
// memory (shmem_default_max_blocks()). No value: it is not a tmpfs.
Result<std::optional<uint64_t>> read_tmpfs_size(const SysRoot& sys, const std::string& path) {
  std::vector<std::string> best;
  for (const std::string& line : split(TRY(sys.text("proc/self/mounts")).value_or(""), "\n")) {
    auto words = split(line, " ");
    if (words.size() < 4 || !(path == words[1] || path.starts_with(words[1] + "/"))) continue;
    if (best.empty() || words[1].size() >= best[1].size()) best = std::move(words);
  }
  if (best.empty() || best[2] != "tmpfs") return std::optional<uint64_t>();
  uint64_t kib = 0;
  for (const std::string& option : split(best[3], ",")) {
    if (option.starts_with("size=")) std::from_chars(option.data() + 5, option.data() + option.size(), kib);
  }
  if (kib > 0) return std::optional(kib << 10);
  const auto words = split(TRY(sys.text("proc/meminfo")).value_or(""), " \n");
  if (words.size() > 1) std::from_chars(words[1].data(), words[1].data() + words[1].size(), kib);
  return kib == 0 ? std::optional<uint64_t>() : std::optional(kib << 9);
}

Result<CheckResults> check_shared_memory(const CheckedPod& pod) {
  const auto size = TRY(read_tmpfs_size(pod.sys, "/dev/shm"));
  if (!size) return CheckResults{{Finding::unknown, "/dev/shm is not a tmpfs of this container"}};
  const size_t gpus = TRY(list_gpu_nodes(pod.sys)).size();
  if (gpus == 0 || *size >= kSharedMemory) return CheckResults();
  return CheckResults{{Finding::fault,
                       "/dev/shm has " + size_text(*size) + " for " + counted(gpus, "GPU") +
                           ": NCCL and data loaders fail or get a bus error",
                       "mount an emptyDir with medium: Memory at /dev/shm"}};
}

Result<CheckResults> check_memory(const CheckedPod& pod) {
  const auto limit = TRY(read_memory_limit(pod.sys));
  const size_t gpus = TRY(list_gpu_nodes(pod.sys)).size();
  if (!limit || gpus == 0 || limit->bytes >= gpus * kMemoryForGpu) return CheckResults();
  return CheckResults{{Finding::advice,
                       "the memory limit is " + size_text(limit->bytes) + " for " + counted(gpus, "GPU") +
                           ": pinned memory counts, and above it the process is killed",
                       "a larger memory limit for the container: 8 GiB for each GPU and more"}};
}

}  // namespace

const PodChecks& memory_checks() {
  static const PodChecks kChecks = {
      {"VF-P10", "memlock", "64 MiB can be locked, and registered with each device", check_memlock},
      {"VF-P11", "rights", "programs get the rights of their files", check_rights},
      {"VF-P12", "shared-memory", "/dev/shm has 1 GiB", check_shared_memory, lacks_gpus},
      {"VF-P13", "memory", "the memory limit has 8 GiB for each GPU", check_memory, lacks_gpus},
  };
  return kChecks;
}

}  // namespace vfrail::pod

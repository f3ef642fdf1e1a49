#include "cni/steps/gid_step.h"

#include "common/node/device_folder.h"

#include <algorithm>
#include <thread>

namespace vfrail::cni {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFirstPause{1};
constexpr milliseconds kLongestPause{50};

// "bus/pci/devices/0000:03:02.1/infiniband/mlx5_2/ports/1", below sysfs.
std::string port_folder(const Record& record, const InPod& in_pod) {
  constexpr std::string_view kSys = "sys/";
  return device_folder(*rdma_function(record)).substr(kSys.size()) + "/" +
         rdma_port_folder(in_pod.rdma, in_pod.rdma_port);
}

// The folder of the port, where it can be seen: a device that has moved is in the sysfs of the pod alone. No
// value if this kernel does not show that.
Result<std::optional<SysRoot>> open_port(const Record& record, const InPod& in_pod, Kernel& pod,
                                         const World& world) {
  const std::string folder = port_folder(record, in_pod);
  if (record.rdma.empty()) return std::optional(world.sys.at("sys/" + folder));
  const auto sysfs = TRY(pod.sysfs());
  return sysfs ? std::optional(SysRoot(*sysfs).at(folder)) : std::nullopt;
}

}  // namespace

Result<GidSearch> wait_for_gid(const Record& record, const InPod& in_pod, milliseconds at_most, Kernel& pod,
                               const World& world) {
  const auto address = first_for_gid(in_pod.addresses);
  if (!address || !rdma_function(record) || in_pod.rdma.empty()) return GidSearch();
  const auto port = TRY(open_port(record, in_pod, pod, world));
  if (!port) return GidSearch();
  const WantedGid wanted{*address, record.attachment.ifname};
  const auto deadline = std::chrono::steady_clock::now() + at_most;
  for (milliseconds pause = kFirstPause;; pause = std::min(2 * pause, kLongestPause)) {
    const bool last = std::chrono::steady_clock::now() >= deadline;
    auto found =
        TRY(find_gid(*port, wanted, last ? kAllGids : kFirstGids), "read the GIDs of " + in_pod.rdma);
    if (found.place || !found.has_table || !found.of_addresses || last) return found;
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace vfrail::cni

// NodeAgent: publishes the devices of this node as ResourceSlices while vfrail serve sends them: watches the
// node's slices and makes a pass of the SlicePublisher at each change. A thread of its own, beside that of
// the watch.
#pragma once

#include "common/log.h"
#include "plugin/kube/access/cluster_access.h"
#include "plugin/kube/client/object_watch.h"
#include "plugin/kube/node/slice_publisher.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace vfrail::kube {

struct NodeAgentOptions {
  std::string driver;
  std::string node;
  // Without news of serve for so long its slices stay as they are, and what kubelet deletes is not made
  // again: it deletes them when the driver has ended.
  std::chrono::milliseconds silence = std::chrono::seconds(30);
  // How often the Node is read while devices wait for the device plugin, or for the Node itself.
  std::chrono::milliseconds node_reads = std::chrono::seconds(10);
};

class NodeAgent {
 public:
  NodeAgent(ClusterAccess access, NodeAgentOptions options, Log& log);
  NodeAgent(const NodeAgent&) = delete;
  NodeAgent& operator=(const NodeAgent&) = delete;
  ~NodeAgent();

  // The newest devices. Waits until they are published or it is known why not, at most some seconds. On any
  // thread.
  PublishState offer(DeviceOffer offer);

 private:
  using Steady = std::chrono::steady_clock;
  struct Offered {
    std::shared_ptr<const DeviceOffer> offer;
    Steady::time_point at{};
    uint64_t number = 0;
  };

  void run(const std::stop_token& stop);
  void watch_slices(bool by_driver);
  Steady::time_point pass(SlicePublisher& publisher);
  Offered offered() const;

  const ClusterAccess access_;
  const NodeAgentOptions options_;
  Log& log_;
  Wakeup wakeup_;
  std::unique_ptr<ObjectWatch> slices_;  // of the thread
  bool watches_driver_ = true;           // likewise
  bool is_silent_ = false;               // likewise: and it was logged
  mutable std::mutex mutex_;
  std::condition_variable decided_;
  Offered offered_;
  uint64_t decided_number_ = 0;
  PublishState state_;
  std::jthread thread_;
};

}  // namespace vfrail::kube

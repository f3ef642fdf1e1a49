// NodeEvents: posts the notices of vfrail serve as Events of this Node (events.k8s.io/v1), as `kubectl
// describe node` shows them. A thread of its own; what cannot be written is tried again as the ledger allows,
// with a line in the log. Needs the rights to create and patch Events in the namespace `default` and no
// others.
#pragma once

#include "common/log.h"
#include "plugin/kube/access/cluster_access.h"
#include "plugin/kube/client/object_watch.h"
#include "plugin/kube/node/notice_ledger.h"

#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace vfrail::kube {

class NodeEvents {
 public:
  // `log` outlives it.
  NodeEvents(ClusterAccess access, std::string node, Log& log);
  NodeEvents(const NodeEvents&) = delete;
  NodeEvents& operator=(const NodeEvents&) = delete;
  ~NodeEvents();

  // All that there are now. On any thread; does not wait.
  void put(std::vector<NodeNotice> notices);

 private:
  using Steady = std::chrono::steady_clock;
  void run(const std::stop_token& stop);
  // The name of the Event that has it now; no value: it could not be written.
  std::optional<std::string> write(ApiClient& client, const NoticeLedger::Entry& entry);

  const ClusterAccess access_;
  const std::string node_;
  Log& log_;
  Wakeup wakeup_;
  std::mutex mutex_;
  std::vector<NodeNotice> notices_;  // put last
  std::jthread thread_;
};

}  // namespace vfrail::kube

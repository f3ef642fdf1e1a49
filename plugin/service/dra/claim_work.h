// ClaimWork: what kubelet's calls about one claim come to: the claim as the API server has it, read and
// prepared, or answered again from its record without asking anybody. Waits for the API server, so it is
// called on the threads of ClaimWorkers; one call at a time for a claim, also by two instances of the plugin.
#pragma once

#include "common/files.h"
#include "common/log.h"
#include "common/result.h"
#include "plugin/dra/api_agent.h"
#include "plugin/dra/prepare_claim.h"
#include "plugin/observe/status/counters.h"

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace vfrail::plugin {

class ClaimWork {
 public:
  struct Options {
    std::string driver;
    AllocatePlaces places;
    // Of this node's ResourceSlices, which is the node's name; empty: not known yet. On any thread.
    std::function<std::string()> node_pool;
    bool chained = false;          // as ClaimReader has it
    Counters* counters = nullptr;  // outlive this; null: no metrics
  };

  // `api` and `log` outlive this.
  ClaimWork(Options options, ApiAgent& api, Log& log);

  // What the node has now; on any thread.
  void publish(std::shared_ptr<const OfferedUnits> offered);
  std::shared_ptr<const OfferedUnits> offered() const;
  std::string node_pool() const { return options_.node_pool(); }

  // Whether the claim cannot be prepared before node_pool() is known. Asks nobody.
  bool needs_node_pool(const ClaimName& name) const;
  // Both log what they did, or why not.
  Result<std::vector<PreparedDevice>> prepare(const ClaimName& name);
  Result<> unprepare(const ClaimName& name);

  // After a start: the CDI specs of a claim that is prepared, again.
  void rewrite(const std::string& uid);
  // A claim that the API server does not have any more is unprepared: kubelet may never ask for it, as after
  // its own state was lost.
  void reconcile(const std::string& uid);

 private:
  Result<std::vector<PreparedDevice>> answer(const ClaimName& name);
  Result<std::vector<PreparedDevice>> prepare_new(const ClaimName& name);
  Result<bool> remove_if_gone(const ClaimRecord& record);
  Result<FileLock> lock(const std::string& uid) const;
  void count_claims() const;

  const Options options_;
  ApiAgent& api_;
  Log& log_;
  mutable std::mutex mutex_;
  std::shared_ptr<const OfferedUnits> offered_ = std::make_shared<const OfferedUnits>();
};

}  // namespace vfrail::plugin

// StatusWriter: keeps the status of this node's claims at the API server as read_claim_statuses() has it,
// from a thread of its own: one write after another, each claim's last state alone, and none that is there
// already.
#pragma once

#include "common/log.h"
#include "plugin/dra/api_agent.h"
#include "plugin/dra/claim_status.h"

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

namespace vfrail::plugin {

class StatusWriter {
 public:
  struct Options {
    // Between two writes: a job's 200 pods of one node are done within a minute, and 5,000 nodes at once are
    // within what an API server takes by default (API Priority and Fairness queues the rest).
    std::chrono::milliseconds interval{200};
    // After a failure, doubled with each up to the most.
    std::chrono::milliseconds retry{1'000};
    std::chrono::milliseconds retry_most{60'000};
  };

  // `api` and `log` outlive it.
  StatusWriter(const Options& options, ApiAgent& api, Log& log) : options_(options), api_(api), log_(log) {}
  StatusWriter(const StatusWriter&) = delete;
  StatusWriter& operator=(const StatusWriter&) = delete;
  ~StatusWriter() { stop(); }

  void start();
  void stop();
  // All claims of this node. Those of the first call are written whatever is there: what a process before
  // this one has written is not known.
  void put(const std::map<std::string, ClaimStatus>& statuses);

 private:
  struct Entry {
    ClaimStatus wanted;
    std::optional<Json> written;  // no value: not known
  };

  void run(const std::stop_token& stop);
  Entry* next_entry();
  // How long to wait before the next write.
  std::chrono::milliseconds write(const std::string& uid, const ClaimStatus& status);

  const Options options_;
  ApiAgent& api_;
  Log& log_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::map<std::string, Entry> entries_;  // by uid
  bool is_first_ = true;
  std::string complaint_;                 // the thread's
  std::chrono::milliseconds back_off_{};  // the thread's
  size_t failures_ = 0;                   // in a row; the thread's
  std::jthread thread_;
};

}  // namespace vfrail::plugin

// Publishers: several of them as the daemon sees them. A question is answered when all who know have
// answered. Decides nothing about devices.
#pragma once

#include "plugin/publish/publisher.h"

#include <cstddef>
#include <vector>

namespace vfrail::plugin {

class Publishers {
 public:
  using Time = Publisher::Time;

  // They outlive this.
  explicit Publishers(std::vector<Publisher*> all) : all_(std::move(all)) {}

  Result<> start(const std::function<void()>& wake);
  std::vector<int> fds() const;
  void read();
  bool follow(const std::vector<PublishedPool>& pools, Time now);
  Time run_due(Time now);
  // Nothing is asked while an answer is missing.
  void ask_in_use(Time now);
  bool needs_in_use(Time now);
  // The devices in use of all of them; an error if one has failed.
  std::optional<Publisher::Answer> take_answer();
  void complete(DevicesInUse& in_use);
  std::vector<ResourceStatus> status() const;
  void describe(NodeStatus& status) const;
  // One after the other, in that time together.
  void close(std::chrono::milliseconds patience);

 private:
  const std::vector<Publisher*> all_;
  std::vector<Publisher*> asked_;         // whose answer is missing
  std::optional<Publisher::Answer> sum_;  // of the others; no value: nobody is asked
};

}  // namespace vfrail::plugin

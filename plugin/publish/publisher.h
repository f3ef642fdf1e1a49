// Publisher: who the node's devices are published to, and who knows which of them containers have. The daemon
// drives all of them alike and names none: kubelet's device-plugin API is the first. Adding one is one line
// in serve. All functions are called on the owner thread, and none waits.
#pragma once

#include "common/result.h"
#include "plugin/device/match/devices_in_use.h"
#include "plugin/device/match/published_pool.h"
#include "plugin/observe/status/status.h"

#include <chrono>
#include <functional>
#include <optional>
#include <vector>

namespace vfrail::plugin {

class Publisher {
 public:
  using Time = std::chrono::steady_clock::time_point;

  Publisher() = default;
  Publisher(const Publisher&) = delete;
  Publisher& operator=(const Publisher&) = delete;
  virtual ~Publisher() = default;

  // Once, before anything else. `wake` can be called on any thread: read(), run_due() or answer() has
  // something to do.
  virtual Result<> start(std::function<void()> wake) = 0;
  // Readable (poll(2)) when read() has something to do; they can change with each call of the other
  // functions.
  virtual std::vector<int> fds() const { return {}; }
  virtual void read() {}

  // The present pools, one for each resource of the configuration. Whether any list has changed.
  virtual bool follow(const std::vector<PublishedPool>& pools, Time now) = 0;
  // Does what is due; returns when it is due again if nothing happens.
  virtual Time run_due(Time now) = 0;

  // Begins to find out which devices containers have; at most one question at a time. False: it never knows.
  virtual bool ask_in_use(Time now) = 0;
  // Whether it waits for what containers have, to be asked for now.
  virtual bool needs_in_use(Time) { return false; }
  struct Answer {
    Result<DevicesInUse> in_use;
    Time asked;
  };
  // The result of ask_in_use(), once.
  virtual std::optional<Answer> take_answer() = 0;

  // What containers have, by the answers of all publishers together: one that knows more of an entry than who
  // answered may say it.
  virtual void complete(DevicesInUse&) {}

  virtual std::vector<ResourceStatus> status() const = 0;
  // What else it has to say of the node.
  virtual void describe(NodeStatus&) const {}
  // Calls that are under way may go on for so long. What pods that run on have stays.
  virtual void close(std::chrono::milliseconds patience) = 0;
};

}  // namespace vfrail::plugin

// Remarks: warnings about the present state, for the log: each is logged when it begins to hold, and again
// when it recurs after it had ended. Bounded in memory and in lines. Belongs to one thread.
#pragma once

#include "common/errors/warning.h"
#include "common/log.h"

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace vfrail::plugin {

class Remarks {
 public:
  using Time = std::chrono::steady_clock::time_point;
  // The limit of remarks of one topic. A node has some hundred devices, mostly without remarks.
  static constexpr size_t kMost = 1000;
  // The interval at which a flapping remark is logged at most.
  static constexpr std::chrono::minutes kPause{1};

  struct Remark {
    Time written;
    bool holds = true;
    bool held = true;    // before this time
    bool again = false;  // it recurs and is still to be logged
  };

  // `now` is all that holds of that topic: a remark that is not in it has ended. Of more than kMost the rest
  // is counted in one line.
  void set(const std::string& topic, const std::vector<Warning>& now, Time time, LogLevel level, Log& log);

 private:
  struct Topic {
    std::map<std::string, Remark> remarks;
    bool too_many = false;
  };
  std::map<std::string, Topic> topics_;
};

}  // namespace vfrail::plugin

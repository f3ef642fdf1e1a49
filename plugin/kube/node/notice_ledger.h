// NoticeLedger: which of the notices of a node become Events, and when: a new one at once, one that stays or
// comes back is counted up, each at most once in five minutes and all together within a limit. Pure: the
// caller writes.
#pragma once

#include "common/result.h"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vfrail::kube {

// As vfrail serve sends it (plugin/observe/status/notices.h).
struct NodeNotice {
  std::string reason;  // "ResourceEmpty"
  std::string about;   // which one of several; empty: the node
  std::string text;
  bool operator==(const NodeNotice&) const = default;
};

// Of {"notices":[{"reason","about","text"}]}. Errc::invalid with what is wrong: a reason that no Event can
// have (letters, at most 64), too many, too long.
Result<std::vector<NodeNotice>> read_notices(std::string_view json);

class NoticeLedger {
 public:
  using Time = std::chrono::steady_clock::time_point;
  // An API server may refuse who writes more (EventRateLimit), and nobody reads more.
  static constexpr std::chrono::minutes kRepeat{5};
  // An API server forgets an Event an hour after its last change; what still is has to be seen.
  static constexpr std::chrono::minutes kRemind{30};
  // Writes of a node: so many at once, then one in that time.
  static constexpr uint32_t kBurst = 10;
  static constexpr std::chrono::seconds kRefill{60};

  struct Entry {
    NodeNotice notice;
    std::string event;   // name of the Event that has its text; empty: none is written
    uint32_t count = 0;  // how often it was there, or was reminded of
    bool is_there = false;
    bool is_due = false;  // to be written as soon as it may be
    Time written{};
  };

  // All that there are now.
  void take(const std::vector<NodeNotice>& notices, Time now);
  // The next to be written; null: none may be now.
  Entry* next(Time now);
  // When next() may have one again if nothing changes.
  Time due(Time now) const;
  // It was written, as that Event; no value: it could not be.
  void written(Entry& entry, std::optional<std::string> event, Time now);

 private:
  void refill(Time now);
  Time may_be_written(const Entry& entry) const;

  std::map<std::pair<std::string, std::string>, Entry> entries_;  // by reason and what it is about
  uint32_t room_ = kBurst;
  Time refilled_{};
};

}  // namespace vfrail::kube

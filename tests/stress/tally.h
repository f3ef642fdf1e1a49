// Tally: what the crowd has done so far, what it is doing, and what went wrong. Safe to use from many
// threads.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace vfrail::test {

class Tally {
 public:
  using Clock = std::chrono::steady_clock;

  // What a worker does, from begin() to end(). Its kind is a word for the sum.
  void begin(size_t worker, const std::string& kind, const std::string& what);
  void end(size_t worker);
  // What a worker has been doing for longer than that; empty: nobody.
  std::string longer_than(std::chrono::seconds limit) const;
  // How long this kind takes, in the mean of late: for a kill at a moment that matters.
  std::chrono::microseconds usual(const std::string& kind) const;

  void count(const std::string& what);
  void complain(const std::string& what);
  bool all_well() const;
  std::vector<std::string> complaints() const;

  // "ADD 812, CHECK 300; killed 90, refused, busy 200; the longest took 1.2 s"
  std::string text() const;

 private:
  struct Doing {
    std::string kind;
    std::string what;
    Clock::time_point since;
  };
  mutable std::mutex mutex_;
  std::map<size_t, Doing> doing_;
  std::map<std::string, int> kinds_;
  std::map<std::string, std::chrono::microseconds> usual_;
  std::map<std::string, int> counts_;
  Clock::duration longest_{};
  std::vector<std::string> complaints_;
};

}  // namespace vfrail::test

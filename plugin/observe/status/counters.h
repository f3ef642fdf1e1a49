// Counters: what has happened since the start, counted by the threads to which it happens. Decides nothing
// and formats nothing (that is metrics.h).
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace vfrail::plugin {

enum class Outcome : uint8_t { ok, failed };

// A histogram of seconds.
struct Durations {
  static constexpr std::array<double, 10> kBounds{0.0005, 0.001, 0.0025, 0.005, 0.01,
                                                  0.025,  0.05,  0.1,    0.5,   2.5};
  std::array<uint64_t, kBounds.size() + 1> counts{};  // the last: beyond the last bound
  double sum = 0;

  void add(std::chrono::duration<double> took);
  uint64_t count() const;
};

class Counters {
 public:
  struct Outcomes {
    uint64_t ok = 0;
    uint64_t failed = 0;
    void add(Outcome outcome) { ++(outcome == Outcome::ok ? ok : failed); }
  };
  // By resource, so there are as many as the configuration has.
  struct OfResource {
    Outcomes allocations;
    Outcomes registrations;
    uint64_t preferred_allocations = 0;
  };
  // NodePrepareResources and NodeUnprepareResources of kubelet, each for one claim.
  struct OfClaims {
    Outcomes prepares;
    Outcomes unprepares;
    Durations prepare_seconds;
    Durations unprepare_seconds;
    std::map<std::string, uint64_t> prepare_failures;    // by the id of the error
    std::map<std::string, uint64_t> unprepare_failures;  // likewise
    uint64_t prepared = 0;                               // claims that have a record now
  };
  struct Content {
    std::map<std::string, OfResource> resources;
    Outcomes scans;
    Outcomes config_reloads;
    Durations allocation_seconds;
    Durations scan_seconds;
    std::optional<std::chrono::system_clock::time_point> last_good_scan;
    std::optional<OfClaims> claims;  // no value: nothing goes by claims
  };

  // A stopwatch for the calls below: what lies between its making and the call.
  using Start = std::chrono::steady_clock::time_point;
  static Start start() { return std::chrono::steady_clock::now(); }

  void allocated(const std::string& resource, Outcome outcome, Start began);
  void preferred(const std::string& resource);
  void registered(const std::string& resource, Outcome outcome);
  void scanned(Outcome outcome, Start began);
  void config_reloaded(Outcome outcome);
  // `failure`: the id of the error; empty: none.
  void claim_prepared(const std::string& failure, Start began);
  void claim_unprepared(const std::string& failure, Start began);
  // How many claims are prepared. From the first call on claims are counted.
  void claims_there(uint64_t number);

  Content get() const;

 private:
  mutable std::mutex mutex_;
  Content now_;
};

}  // namespace vfrail::plugin

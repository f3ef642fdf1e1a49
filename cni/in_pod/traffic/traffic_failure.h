// TrafficFailure: where a queue pair between two rails failed, and what that means for people. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace vfrail::pod {

// The calls in their order. Each fails for reasons of its own layer.
enum class TrafficStage : uint8_t {
  port,       // the rail's port is not ACTIVE
  open,       // the device's node
  memory,     // registration, which locks
  create,     // of the queue pair
  init,       // its states: INIT, "ready to receive", "ready to send"
  rtr,        // here the kernel resolves GID, route and neighbour
  rts,        //
  write,      // posting a write
  complete,   // `error` is the status of a completion
  unfinished  // writes neither completed nor failed in time
};

// Of enum ibv_wc_status, whose numbers libibverbs keeps; the edge asserts them.
inline constexpr int kRemoteAccess = 10;
inline constexpr int kRetryExceeded = 12;
inline constexpr int kFlushed = 5;

struct TrafficFailure {
  TrafficStage stage = TrafficStage::open;
  int error = 0;  // errno; 0: none
  bool operator==(const TrafficFailure&) const = default;
};

// "modify to RTR", in messages and between both programs.
const char* name_of(TrafficStage stage);
std::optional<TrafficStage> parse_traffic_stage(std::string_view name);

struct FailureText {
  std::string text;    // "modify to RTR: ENODATA (No data available): there is no such GID"
  std::string remedy;  // what to do
};
FailureText failure_text(const TrafficFailure& failure);

}  // namespace vfrail::pod

// TrafficEnd: one end of a queue pair between two rails, with the memory that it writes from and is written
// to; and TrafficDevices, which opens them. The seam to libibverbs: tests have ends that fail.
#pragma once

#include "cni/in_pod/traffic/traffic_failure.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>

namespace vfrail::pod {

struct TrafficRail {
  std::string name;  // "mlx5_2"
  uint32_t port = 1;
  bool is_active = true;
  std::optional<uint32_t> gid_index;  // no value: InfiniBand, addressed by LID
  double rate_gbits = 0;              // of its port; 0: unknown
};

// What the peer has to know of an end.
struct EndAddress {
  uint32_t queue_pair = 0;
  uint32_t lid = 0;
  uint32_t mtu = 0;  // in bytes: 256 to 4096
  std::array<uint8_t, 16> gid = {};
  uint32_t key = 0;  // of the memory that may be written to
  uint64_t memory = 0;
  bool operator==(const EndAddress&) const = default;
};

class TrafficEnd {
 public:
  TrafficEnd() = default;
  TrafficEnd(const TrafficEnd&) = delete;
  TrafficEnd& operator=(const TrafficEnd&) = delete;
  virtual ~TrafficEnd() = default;

  virtual EndAddress address() const = 0;
  // No value: done.
  virtual std::optional<TrafficFailure> connect(const EndAddress& peer) = 0;
  // One write to the peer's memory, of at most the message's size.
  virtual std::optional<TrafficFailure> post(uint32_t bytes) = 0;
  // How many writes have completed since the last call.
  virtual std::variant<uint32_t, TrafficFailure> poll() = 0;
};

struct EndSize {
  uint32_t message_bytes = 0;
  uint32_t depth = 0;  // writes under way at the same time
};

using OpenedEnd = std::variant<std::unique_ptr<TrafficEnd>, TrafficFailure>;

class TrafficDevices {
 public:
  virtual ~TrafficDevices() = default;
  virtual OpenedEnd open(const TrafficRail& rail, EndSize size) = 0;
};

}  // namespace vfrail::pod

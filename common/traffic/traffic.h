// Traffic of devices: what two readings of their counters, an interval apart, say about it. Pure.
#pragma once

#include "common/kernel/kernel.h"
#include "common/node/rdma_counters.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vfrail {

// What is counted, from all ports of a device.
enum class Count : uint8_t {
  rdma_rx_bytes,
  rdma_tx_bytes,
  rdma_rx_packets,
  rdma_tx_packets,
  net_rx_bytes,  // of the netdev: TCP and all else that is not RDMA
  net_tx_bytes,
  retransmissions,
  out_of_sequence,
  congestion,  // marks and notifications: ECN, CNP
  discards,    // discarded or damaged packets
};
inline constexpr size_t kCounts = 10;
// "rdma_rx_bytes".
const char* name_of(Count count);

// A missing value: no counter of the device says it. Vendors name them differently, and some have none.
using Counts = std::array<std::optional<uint64_t>, kCounts>;
// What a counter of that name counts. No value: something else.
std::optional<Count> kind_of(std::string_view counter);
Counts counts_of(const std::optional<TrafficCounters>& netdev, const std::vector<RdmaPortCounters>& rdma);

struct DeviceReading {
  std::string id;
  std::string names;       // "eth2, mlx5_3"
  std::string pod;         // "team/train-0"; empty: none
  std::string claim = {};  // the ResourceClaim that it has it by, and the request of that; empty: none
  std::optional<uint32_t> speed_mbps = {};
  Counts counts = {};
};

struct Reading {
  std::chrono::steady_clock::time_point time;
  std::vector<DeviceReading> devices;
};

// Counts for each second.
using Rates = std::array<std::optional<double>, kCounts>;

struct DeviceRates {
  DeviceReading device;
  Rates rates = {};
  const std::optional<double>& operator[](Count count) const { return rates[static_cast<size_t>(count)]; }
  // The share of the speed of the port, by the busier direction.
  std::optional<double> percent() const;
};

// "12.3 G" of 12.3e9, three digits.
std::string with_prefix(double value);
// "98.4 Gb/s" of 12.3e9 bytes in a second; "-": the device does not count them.
std::string bit_rate_text(const std::optional<double>& bytes);

// Rates of the devices that both readings have. A counter that has become smaller has begun anew (a driver
// was bound again), and has no rate in this interval.
std::vector<DeviceRates> rates_between(const Reading& before, const Reading& now);

// Totals and extremes of all intervals, by device.
class Summary {
 public:
  struct Line {
    std::string names;
    std::string pod;  // the last
    struct Range {
      double total = 0;
      double most = 0;
      double least = 0;
      double seconds = 0;
      double average() const { return seconds > 0 ? total / seconds : 0; }
    };
    std::array<std::optional<Range>, kCounts> counts = {};
  };

  void add(const std::vector<DeviceRates>& rates, double seconds);
  const std::map<std::string, Line>& lines() const { return lines_; }
  double seconds() const { return seconds_; }

 private:
  std::map<std::string, Line> lines_;
  double seconds_ = 0;
};

}  // namespace vfrail

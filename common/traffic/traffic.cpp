#include "common/traffic/traffic.h"

#include <algorithm>
#include <cstdio>
#include <string_view>

namespace vfrail {

namespace {

struct CounterName {
  std::string_view name;
  Count count;
  uint64_t unit = 1;
};

// By the kernel's names. port_*_data count words of four bytes (InfiniBand specification, PortCounters);
// EFA and erdma count bytes; rxe and siw count packets alone.
constexpr CounterName kNames[] = {
    {"port_rcv_data", Count::rdma_rx_bytes, 4},
    {"port_xmit_data", Count::rdma_tx_bytes, 4},
    {"rx_bytes", Count::rdma_rx_bytes},
    {"tx_bytes", Count::rdma_tx_bytes},
    {"port_rcv_packets", Count::rdma_rx_packets},
    {"port_xmit_packets", Count::rdma_tx_packets},
    {"rx_pkts", Count::rdma_rx_packets},
    {"tx_pkts", Count::rdma_tx_packets},
    {"rcvd_pkts", Count::rdma_rx_packets},
    {"sent_pkts", Count::rdma_tx_packets},
    {"local_ack_timeout_err", Count::retransmissions},
    {"packet_seq_err", Count::retransmissions},
    {"implied_nak_seq_err", Count::retransmissions},
    {"rnr_nak_retry_err", Count::retransmissions},
    {"completer_retry_err", Count::retransmissions},
    {"retrans_pkts", Count::retransmissions},
    {"out_of_sequence", Count::out_of_sequence},
    {"out_of_seq_request", Count::out_of_sequence},
    {"np_ecn_marked_roce_packets", Count::congestion},
    {"np_cnp_sent", Count::congestion},
    {"rp_cnp_handled", Count::congestion},
    {"port_xmit_discards", Count::discards},
    {"port_rcv_errors", Count::discards},
    {"rx_icrc_encapsulated", Count::discards},
    {"symbol_error", Count::discards},
};

const CounterName* find(std::string_view name) {
  const auto* at = std::find_if(std::begin(kNames), std::end(kNames),
                                [&](const CounterName& one) { return one.name == name; });
  return at == std::end(kNames) ? nullptr : at;
}

void add(Counts& counts, Count count, uint64_t value) {
  auto& sum = counts[static_cast<size_t>(count)];
  sum = sum.value_or(0) + value;
}

}  // namespace

const char* name_of(Count count) {
  static constexpr std::array<const char*, kCounts> kCountNames = {
      "rdma_rx_bytes", "rdma_tx_bytes",   "rdma_rx_packets", "rdma_tx_packets", "net_rx_bytes",
      "net_tx_bytes",  "retransmissions", "out_of_sequence", "congestion",      "discards"};
  return kCountNames[static_cast<size_t>(count)];
}

std::optional<Count> kind_of(std::string_view counter) {
  const CounterName* known = find(counter);
  return known == nullptr ? std::nullopt : std::optional(known->count);
}

Counts counts_of(const std::optional<TrafficCounters>& netdev, const std::vector<RdmaPortCounters>& rdma) {
  Counts out;
  if (netdev) {
    add(out, Count::net_rx_bytes, netdev->rx_bytes);
    add(out, Count::net_tx_bytes, netdev->tx_bytes);
  }
  for (const RdmaPortCounters& port : rdma) {
    for (const NamedCounter& counter : port.counters) {
      if (const CounterName* known = find(counter.name)) add(out, known->count, counter.value * known->unit);
    }
  }
  return out;
}

std::optional<double> DeviceRates::percent() const {
  const auto& rx = (*this)[Count::rdma_rx_bytes];
  const auto& tx = (*this)[Count::rdma_tx_bytes];
  if (!device.speed_mbps || *device.speed_mbps == 0 || (!rx && !tx)) return std::nullopt;
  const double bytes_of_port = *device.speed_mbps * 1e6 / 8;
  return 100 * std::max(rx.value_or(0), tx.value_or(0)) / bytes_of_port;
}

std::string with_prefix(double value) {
  static constexpr const char* kPrefixes[] = {"", "k", "M", "G", "T"};
  size_t prefix = 0;
  while (value >= 999.5 && prefix + 1 < std::size(kPrefixes)) {
    value /= 1000;
    ++prefix;
  }
  char out[32];
  std::snprintf(out, sizeof out, "%.*f %s", prefix == 0 || value >= 99.95 ? 0 : 1, value, kPrefixes[prefix]);
  return out;
}

std::string bit_rate_text(const std::optional<double>& bytes) {
  return bytes ? with_prefix(*bytes * 8) + "b/s" : "-";
}

std::vector<DeviceRates> rates_between(const Reading& before, const Reading& now) {
  std::map<std::string_view, const Counts*> known;
  for (const DeviceReading& device : before.devices) known[device.id] = &device.counts;
  const double seconds = std::chrono::duration<double>(now.time - before.time).count();
  std::vector<DeviceRates> out;
  for (const DeviceReading& device : now.devices) {
    const auto found = known.find(device.id);
    if (found == known.end() || seconds <= 0) continue;
    DeviceRates& rates = out.emplace_back(DeviceRates{.device = device});
    for (size_t i = 0; i < kCounts; ++i) {
      const auto& first = (*found->second)[i];
      const auto& second = device.counts[i];
      if (first && second && *second >= *first)
        rates.rates[i] = static_cast<double>(*second - *first) / seconds;
    }
  }
  return out;
}

void Summary::add(const std::vector<DeviceRates>& rates, double seconds) {
  seconds_ += seconds;
  for (const DeviceRates& one : rates) {
    Line& line = lines_[one.device.id];
    line.names = one.device.names;
    if (!one.device.pod.empty()) line.pod = one.device.pod;
    for (size_t i = 0; i < kCounts; ++i) {
      const auto& rate = one.rates[i];
      if (!rate) continue;
      auto& range = line.counts[i];
      if (!range) range = Line::Range{.least = *rate};
      range->total += *rate * seconds;
      range->most = std::max(range->most, *rate);
      range->least = std::min(range->least, *rate);
      range->seconds += seconds;
    }
  }
}

}  // namespace vfrail

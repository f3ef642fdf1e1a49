#include "plugin/observe/metrics/host_traffic.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <string_view>
#include <utility>

namespace vfrail::plugin {

namespace {

// The columns of a line (dev_seq_printf_stats() in net/core/net-procfs.c). The kernel adds what the device
// missed to what was dropped on the way in.
enum Column : uint8_t {
  rx_bytes = 0,
  rx_packets = 1,
  rx_dropped = 3,
  tx_bytes = 8,
  tx_packets = 9,
  tx_dropped = 11
};
constexpr size_t kColumns = 16;

// "  eth0: 100 2 0 0 ...". No value for a heading.
std::optional<std::pair<std::string, TrafficCounters>> parse_line(std::string_view line) {
  const size_t colon = line.find(':');
  const size_t begin = line.find_first_not_of(' ');
  if (colon == std::string_view::npos || begin >= colon) return std::nullopt;
  const std::string name(line.substr(begin, colon - begin));
  line.remove_prefix(colon + 1);
  std::array<uint64_t, kColumns> values{};
  for (uint64_t& value : values) {
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    const auto [end, failed] = std::from_chars(line.data(), line.data() + line.size(), value);
    if (failed != std::errc()) return std::nullopt;
    line.remove_prefix(static_cast<size_t>(end - line.data()));
  }
  return std::pair(name, TrafficCounters{.rx_packets = values[rx_packets],
                                         .tx_packets = values[tx_packets],
                                         .rx_bytes = values[rx_bytes],
                                         .tx_bytes = values[tx_bytes],
                                         .rx_dropped = values[rx_dropped],
                                         .tx_dropped = values[tx_dropped]});
}

}  // namespace

void HostTraffic::dump() {
  dumped_.emplace();
  if (kernel_ == nullptr) return;
  auto links = kernel_->link_traffic();
  if (!links) return;
  for (const LinkTraffic& link : *links) {
    const auto [at, is_new] = dumped_->emplace(link.parent_device, link.traffic);
    if (!is_new) at->second.reset();
  }
}

void HostTraffic::read_lines() {
  lines_.emplace();
  std::ifstream file(sys_.path("proc/1/net/dev"));
  // A line without its end is what was read before an error.
  for (std::string line; std::getline(file, line) && !file.eof();) {
    if (auto one = parse_line(line)) lines_->insert(*std::move(one));
  }
}

std::optional<TrafficCounters> HostTraffic::find(const std::string& id, const std::string& netdev) {
  if (!dumped_) dump();
  const auto dumped = dumped_->find(id);
  if (dumped != dumped_->end() && dumped->second) return dumped->second;
  if (!lines_) read_lines();
  const auto line = lines_->find(netdev);
  if (line == lines_->end()) return std::nullopt;
  // The name may have gone to another device since the scan.
  const auto device = sys_.link_target("sys/class/net/" + netdev).or_none();
  if (!device || device->find("/" + id + "/") == std::string::npos) return std::nullopt;
  return line->second;
}

}  // namespace vfrail::plugin

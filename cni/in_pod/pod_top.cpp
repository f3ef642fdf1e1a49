#include "cni/in_pod/pod_top.h"

#include "common/text.h"

#include <charconv>
#include <cstdlib>

namespace vfrail::pod {

namespace {

constexpr double kMinInterval = 0.1;
constexpr double kMaxInterval = 3600;
constexpr unsigned kMaxCount = 1'000'000;

uint64_t counter_in(const SysRoot& folder, const std::string& name) {
  const auto number = folder.number(name).or_none();
  return number && *number > 0 ? static_cast<uint64_t>(*number) : 0;
}

std::optional<TrafficCounters> read_interface(const SysRoot& sys, const std::vector<std::string>& netdevs) {
  if (netdevs.empty()) return std::nullopt;
  const SysRoot folder = sys.at("sys/class/net/" + netdevs.front() + "/statistics");
  if (!folder.exists("rx_bytes").value_or(false)) return std::nullopt;
  return TrafficCounters{.rx_packets = counter_in(folder, "rx_packets"),
                         .tx_packets = counter_in(folder, "tx_packets"),
                         .rx_bytes = counter_in(folder, "rx_bytes"),
                         .tx_bytes = counter_in(folder, "tx_bytes"),
                         .rx_dropped = counter_in(folder, "rx_dropped"),
                         .tx_dropped = counter_in(folder, "tx_dropped")};
}

}  // namespace

std::vector<OptionText> pod_top_options() {
  return {{{"--top"}, "", "Show the traffic of the pod's RDMA devices, live, with a summary at the end"},
          {{"-i", "--interval"}, "SECONDS", "Between two lines of --top, 0.1 to 3600 (1)"},
          {{"-n", "--count"}, "N", "End --top after so many intervals (by ^C)"},
          {{"--once"}, "", "One interval: --count 1"}};
}

Result<std::optional<WatchOptions>> read_pod_top(const CommandWords& words) {
  if (!words.has("--top")) {
    for (const OptionText& option : pod_top_options()) {
      const std::string& name = option.names.back();
      if (words.has(name)) return Error{Errc::invalid, 0, name + " needs --top"};
    }
    return std::optional<WatchOptions>();
  }
  WatchOptions out;
  if (const auto at = words.options.find("--interval"); at != words.options.end()) {
    char* end = nullptr;
    out.interval = std::strtod(at->second.c_str(), &end);
    if (at->second.empty() || *end != 0 || !(out.interval >= kMinInterval && out.interval <= kMaxInterval))
      return Error{Errc::invalid, 0, "--interval: must be a number of seconds from 0.1 to 3600"};
  }
  if (const auto at = words.options.find("--count"); at != words.options.end()) {
    const char* end = at->second.data() + at->second.size();
    const auto [stop, error] = std::from_chars(at->second.data(), end, out.count);
    if (error != std::errc() || stop != end || out.count == 0 || out.count > kMaxCount)
      return Error{Errc::invalid, 0, "--count: must be a number from 1 to " + std::to_string(kMaxCount)};
  }
  if (words.has("--once")) out.count = 1;
  return std::optional(out);
}

Reading read_rail_traffic(const SysRoot& sys, const std::vector<Rail>& rails) {
  Reading out{.time = std::chrono::steady_clock::now(), .devices = {}};
  for (const Rail& rail : rails) {
    const auto ports = read_rdma_counters(DeviceFolder(sys.at(rail.folder())), "", rail.name);
    if (ports.empty()) continue;
    DeviceReading& one = out.devices.emplace_back();
    one.id = rail.name;
    one.names = joined(rail.netdevs);
    const double gbits = rail.ports.empty() ? 0 : rail.ports.front().gbits();
    if (gbits > 0) one.speed_mbps = static_cast<uint32_t>(gbits * 1000);
    one.counts = counts_of(read_interface(sys, rail.netdevs), ports);
  }
  return out;
}

}  // namespace vfrail::pod

#include "plugin/kube/view/traffic_page.h"

#include <charconv>
#include <optional>

namespace vfrail::kube {

namespace {

// A line of Prometheus' text format: NAME{LABEL="VALUE",...} NUMBER.
struct Sample {
  std::string_view name;
  std::map<std::string_view, std::string> labels = {};
  uint64_t value = 0;

  std::string label(std::string_view key) const {
    const auto found = labels.find(key);
    return found == labels.end() ? std::string() : found->second;
  }
};

// Behind the opening quotation mark; no value: it does not end. Leaves what is behind the closing one.
std::optional<std::string> take_quoted(std::string_view& rest) {
  std::string out;
  while (!rest.empty() && rest.front() != '"') {
    if (rest.front() == '\\') {
      rest.remove_prefix(1);
      if (rest.empty()) return std::nullopt;
      out += rest.front() == 'n' ? '\n' : rest.front();
    } else {
      out += rest.front();
    }
    rest.remove_prefix(1);
  }
  if (rest.empty()) return std::nullopt;
  rest.remove_prefix(1);
  return out;
}

// Of counters, which are whole numbers.
std::optional<Sample> read_sample(std::string_view line) {
  const size_t brace = line.find('{');
  if (brace == std::string_view::npos) return std::nullopt;
  Sample out{line.substr(0, brace)};
  std::string_view rest = line.substr(brace + 1);
  while (!rest.empty() && rest.front() != '}') {
    const size_t equals = rest.find("=\"");
    if (equals == std::string_view::npos) return std::nullopt;
    const std::string_view key = rest.substr(0, equals);
    rest.remove_prefix(equals + 2);
    auto value = take_quoted(rest);
    if (!value) return std::nullopt;
    out.labels[key] = *std::move(value);
    if (rest.starts_with(',')) rest.remove_prefix(1);
  }
  if (!rest.starts_with("} ")) return std::nullopt;
  rest.remove_prefix(2);
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), out.value);
  return error == std::errc() && end == rest.data() + rest.size() ? std::optional(std::move(out))
                                                                  : std::nullopt;
}

struct DeviceSamples {
  std::optional<TrafficCounters> traffic;
  std::map<std::pair<std::string, uint32_t>, RdmaPortCounters> rdma;  // by device and port
};
using Samples = std::map<std::string, DeviceSamples>;  // by device

void add(const Sample& sample, DeviceSamples& to) {
  const auto traffic = [&](uint64_t TrafficCounters::*counter) {
    if (!to.traffic) to.traffic.emplace();
    (*to.traffic).*counter = sample.value;
  };
  if (sample.name == "vfrail_device_receive_bytes_total") return traffic(&TrafficCounters::rx_bytes);
  if (sample.name == "vfrail_device_transmit_bytes_total") return traffic(&TrafficCounters::tx_bytes);
  if (sample.name != "vfrail_rdma_port_stats_total") return;
  const std::string device = sample.label("rdma_device"), port = sample.label("port");
  uint32_t number = 0;
  std::from_chars(port.data(), port.data() + port.size(), number);
  to.rdma[{device, number}].counters.push_back({sample.label("counter"), sample.value});
}

// A device without an interface and without RDMA has nothing to count.
constexpr const char* kNothingToCount = "none_there";

std::string missing_text(const Sample& sample) {
  const std::string reason = sample.label("reason");
  if (sample.value == 0 || reason == kNothingToCount) return "";
  const std::string what = sample.label("counters") == "rdma" ? "RDMA counters" : "counters of interfaces";
  if (reason == "pod_out_of_reach")
    return what + " of devices in pods, which its vfrail reads with metrics.podCounters=true in the chart";
  return what + " of some devices (" + reason + ": the README of the metrics explains it)";
}

}  // namespace

Result<TrafficPage> read_traffic_page(std::string_view text, std::chrono::steady_clock::time_point time) {
  TrafficPage out;
  out.reading.time = time;
  Samples devices;
  bool is_ours = false;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.starts_with("vfrail_")) continue;
    is_ours = true;
    if (line.starts_with("vfrail_devices_dropped ") && !line.ends_with(" 0"))
      out.missing.emplace_back("counters beyond --metrics-max-series");
    const bool is_wanted = line.starts_with("vfrail_device_receive_bytes_total{") ||
                           line.starts_with("vfrail_device_transmit_bytes_total{") ||
                           line.starts_with("vfrail_rdma_port_stats_total{") ||
                           line.starts_with("vfrail_devices_without_counters{");
    if (!is_wanted) continue;
    const auto sample = read_sample(line);
    if (!sample) continue;
    if (sample->name != "vfrail_devices_without_counters")
      add(*sample, devices[sample->label("device")]);
    else if (std::string missing = missing_text(*sample); !missing.empty())
      out.missing.push_back(std::move(missing));
  }
  if (!is_ours) return Error{Errc::protocol, 0, "not a page of vfrail's metrics"};
  for (const auto& [id, samples] : devices) {
    std::vector<RdmaPortCounters> ports;
    for (const auto& entry : samples.rdma) ports.push_back(entry.second);
    out.reading.devices.push_back(
        {.id = id, .names = {}, .pod = {}, .claim = {}, .counts = counts_of(samples.traffic, ports)});
  }
  return out;
}

}  // namespace vfrail::kube

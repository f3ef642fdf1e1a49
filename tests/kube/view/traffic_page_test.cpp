// What is read of a node's metrics about the traffic of its devices.
#include "plugin/kube/view/traffic_page.h"

#include "plugin/observe/metrics/metrics_text.h"

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::kube;

namespace {

std::optional<uint64_t> count_of(const TrafficPage& page, size_t device, Count count) {
  return page.reading.devices.at(device).counts[static_cast<size_t>(count)];
}

}  // namespace

TEST_CASE("of a page of metrics the bytes of each device are read, of RDMA from all of its ports") {
  plugin::MetricsText text;
  text.gauge("vfrail_devices", "x");
  text.sample({{"resource", "r/x"}, {"state", "healthy"}}, uint64_t{2});
  text.counter("vfrail_device_receive_bytes_total", "x");
  text.sample({{"resource", "r/x"}, {"device", "0000:18:00.2"}, {"pod", "a\"b\\c\n"}}, uint64_t{5000});
  text.counter("vfrail_rdma_port_stats_total", "x");
  for (const char* port : {"1", "2"})
    text.sample({{"device", "0000:18:00.2"},
                 {"rdma_device", "mlx5_2"},
                 {"port", port},
                 {"counter", "port_xmit_data"}},
                uint64_t{1000});
  text.sample({{"device", "shared"}, {"rdma_device", "efa_0"}, {"port", "1"}, {"counter", "rx_bytes"}},
              uint64_t{77});
  const auto page = read_traffic_page(std::move(text).take(), {});
  REQUIRE(page);
  REQUIRE(page->reading.devices.size() == 2);
  CHECK(page->reading.devices[0].id == "0000:18:00.2");
  CHECK(count_of(*page, 0, Count::net_rx_bytes) == 5000U);
  CHECK(count_of(*page, 0, Count::rdma_tx_bytes) == 8000U);  // words of four bytes
  CHECK(count_of(*page, 0, Count::rdma_rx_bytes) == std::nullopt);
  CHECK(count_of(*page, 1, Count::rdma_rx_bytes) == 77U);
  CHECK(count_of(*page, 1, Count::net_rx_bytes) == std::nullopt);
  CHECK(page->missing.empty());
}

TEST_CASE("counters that a node does not read are named, but for devices that have nothing to count") {
  const auto missing = [](const std::string& line) {
    const auto page = read_traffic_page("vfrail_build_info{version=\"1\"} 1\n" + line + "\n", {});
    REQUIRE(page);
    return page->missing.empty() ? std::string() : page->missing.at(0);
  };
  const auto without = [&](const std::string& counters, const std::string& reason, int count) {
    return missing("vfrail_devices_without_counters{counters=\"" + counters + "\",reason=\"" + reason +
                   "\"} " + std::to_string(count));
  };
  CHECK(
      without("rdma", "pod_out_of_reach", 8) ==
      "RDMA counters of devices in pods, which its vfrail reads with metrics.podCounters=true in the chart");
  CHECK(
      without("traffic", "silent_driver", 8).find("counters of interfaces of some devices (silent_driver") ==
      0);
  CHECK(without("traffic", "none_there", 8).empty());
  CHECK(without("traffic", "silent_driver", 0).empty());
  CHECK(missing("vfrail_devices_dropped 0").empty());
  CHECK(missing("vfrail_devices_dropped 3") == "counters beyond --metrics-max-series");
}

TEST_CASE("what is no page of metrics is an error, and lines that are damaged are skipped") {
  for (const char* text : {"", "<html>", "{}", "# HELP vfrail_devices x\n"}) {
    INFO(text);
    CHECK(!read_traffic_page(text, {}));
  }
  const std::string good = "vfrail_device_receive_bytes_total{device=\"d\"} 7";
  for (size_t end = 1; end < good.size(); ++end) {
    const auto page = read_traffic_page(good.substr(0, end) + "\nvfrail_x 1", {});
    INFO(good.substr(0, end));
    REQUIRE(page);
    CHECK(page->reading.devices.empty());
  }
  CHECK(read_traffic_page(good, {})->reading.devices.size() == 1);
  CHECK(read_traffic_page("vfrail_device_receive_bytes_total{device=\"d\"} 1e9\nvfrail_x 1", {})
            ->reading.devices.empty());
}

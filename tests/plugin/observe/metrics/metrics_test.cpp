// The text of /metrics. That it is what Prometheus takes is promtool's word, here and in serve_test.cpp.
#include "plugin/observe/metrics/metrics.h"

#include "plugin/observe/metrics/metrics_text.h"
#include "tests/support/places.h"
#include "tests/support/temp_dir.h"

#include <cstdlib>
#include <fstream>

#include <catch2/catch.hpp>

namespace vfrail::test {
using namespace plugin;

namespace {

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

std::string device_id(size_t number) {
  char text[64];
  std::snprintf(text, sizeof text, "0000:%02zx:%02zx.%zx", number / 256, number / 8 % 32, number % 8);
  return text;
}

// `count` devices of nvidia.com/hostdev; the second is unhealthy, the last is in use.
MetricsInput make_input(size_t count) {
  auto pool = std::make_shared<Pool>();
  pool->config.prefix = "nvidia.com";
  pool->config.name = "hostdev";
  MetricsInput out;
  for (size_t i = 0; i < count; ++i) {
    PoolDevice device;
    device.facts.address = *PciAddress::parse(device_id(i));
    device.facts.id = DeviceId(device.facts.address);
    if (i == 1) device.fault = {FaultCode::port_down, "its port is down"};
    pool->devices.push_back(device);
    DeviceCounters counters;
    counters.traffic = TrafficCounters{.rx_packets = 1, .tx_packets = 2, .rx_bytes = 300 + i};
    counters.rdma = {{.device = "mlx5_" + std::to_string(i), .port = 1, .counters = {{"sent_pkts", 9}}}};
    out.devices[device.id()] = counters;
  }
  auto status = std::make_shared<NodeStatus>();
  status->scanned = true;
  status->left_out[LeftOut::Kind::host_use] = 3;
  status->orphans = {"0000:00:00.2", "0000:00:00.3"};
  status->resources = {{.pool = *pool, .serving = true, .registered = true, .trouble = {}}};
  out.status = status;
  auto in_use = std::make_shared<DevicesInUse>();
  in_use->resources["nvidia.com/hostdev"][device_id(count - 1)] = {"ml", "train-0", "main"};
  out.in_use = in_use;
  out.in_use_fresh = true;
  Counters counters;
  counters.allocated("nvidia.com/hostdev", Outcome::ok, Counters::start());
  counters.allocated("nvidia.com/hostdev", Outcome::failed, Counters::start());
  counters.preferred("nvidia.com/hostdev");
  counters.registered("nvidia.com/hostdev", Outcome::ok);
  counters.scanned(Outcome::ok, Counters::start() - std::chrono::milliseconds{30});
  counters.config_reloaded(Outcome::failed);
  out.counts = counters.get();
  out.process = read_process_facts();
  return out;
}

void check_with_promtool(const std::string& text) {
  const TempDir folder;
  std::ofstream(folder.path("metrics")) << text;
  const std::string tool = test::source_path("build/tools/promtool");
  const std::string command =
      tool + " check metrics < " + folder.path("metrics") + " > " + folder.path("said") + " 2>&1";
  INFO(command << " (tests/setup fetches promtool)");
  const int status = std::system(command.c_str());
  std::ifstream file(folder.path("said"));
  const std::string said{std::istreambuf_iterator<char>(file), {}};
  INFO(said);
  CHECK(said.empty());
  CHECK(status == 0);
}

}  // namespace

TEST_CASE("the metrics have pools, calls, scans and devices") {
  const std::string text = render_metrics(make_input(3));
  for (
      const std::string line : {
          R"(vfrail_devices{resource="nvidia.com/hostdev",state="healthy"} 2)",
          R"(vfrail_devices{resource="nvidia.com/hostdev",state="unhealthy"} 1)",
          R"(vfrail_device_unhealthy{resource="nvidia.com/hostdev",device="0000:00:00.1",reason="port_down"} 1)",
          R"(vfrail_devices_in_use{resource="nvidia.com/hostdev"} 1)",
          R"(vfrail_resource_registered{resource="nvidia.com/hostdev"} 1)",
          R"(vfrail_devices_left_out{reason="host_use"} 3)",
          R"(vfrail_devices_left_out{reason="no_driver"} 0)",
          R"(vfrail_reason_info{metric="vfrail_device_unhealthy",reason="port_down",id="VF-PORT-DOWN"} 1)",
          R"(vfrail_reason_info{metric="vfrail_devices_left_out",reason="not_selected",id="VF-NOT-SELECTED"} 1)",
          R"(vfrail_allocations_total{resource="nvidia.com/hostdev",result="ok"} 1)",
          R"(vfrail_allocations_total{resource="nvidia.com/hostdev",result="failed"} 1)",
          R"(vfrail_allocation_duration_seconds_count 2)",
          R"(vfrail_preferred_allocations_total{resource="nvidia.com/hostdev"} 1)",
          R"(vfrail_registrations_total{resource="nvidia.com/hostdev",result="ok"} 1)",
          R"(vfrail_scans_total{result="ok"} 1)",
          R"(vfrail_scan_duration_seconds_bucket{le="0.025"} 0)",
          R"(vfrail_scan_duration_seconds_bucket{le="+Inf"} 1)",
          R"(vfrail_config_reloads_total{result="failed"} 1)",
          R"(vfrail_pod_resources_up 1)",
          R"(vfrail_device_receive_bytes_total{resource="nvidia.com/hostdev",device="0000:00:00.0"} 300)",
          R"(vfrail_device_receive_bytes_total{resource="nvidia.com/hostdev",device="0000:00:00.2",)"
          R"(namespace="ml",pod="train-0",container="main"} 302)",
          R"(vfrail_rdma_port_stats_total{resource="nvidia.com/hostdev",device="0000:00:00.2",)"
          R"(rdma_device="mlx5_2",port="1",counter="sent_pkts",namespace="ml",pod="train-0",container="main"} 9)",
          R"(vfrail_series_dropped 0)",
      }) {
    INFO(line << "\nin\n" << text);
    CHECK(has_line(text, line));
  }
  CHECK(has_line(text, "vfrail_orphaned_devices 2"));
  CHECK(text.find("vfrail_build_info{version=\"") != std::string::npos);
}

TEST_CASE("a scan that failed, and devices that could not be read, are in the metrics") {
  MetricsInput input = make_input(1);
  CHECK(has_line(render_metrics(input), "vfrail_scan_failing 0"));
  CHECK(has_line(render_metrics(input), "vfrail_devices_unread 0"));
  NodeStatus status = *input.status;
  status.scan_failure = "0000:00:00.1: EIO";
  status.unread = 1;
  input.status = std::make_shared<NodeStatus>(status);
  CHECK(has_line(render_metrics(input), "vfrail_scan_failing 1"));
  CHECK(has_line(render_metrics(input), "vfrail_devices_unread 1"));
}

TEST_CASE("claims and the offer have their metrics where resources go by DRA, and none elsewhere") {
  MetricsInput input = make_input(1);
  CHECK(render_metrics(input).find("vfrail_claim") == std::string::npos);
  CHECK(render_metrics(input).find("vfrail_dra") == std::string::npos);
  Counters counters;
  counters.claim_prepared("", Counters::start() - std::chrono::milliseconds{30});
  counters.claim_prepared("VF-CLAIM-REFUSED", Counters::start());
  counters.claim_unprepared("VF-DEVICE-IN-USE", Counters::start());
  counters.claims_there(7);
  input.counts = counters.get();
  NodeStatus status = *input.status;
  status.offer = OfferStatus{.not_published_id = "VF-BUSY", .slices = 2, .writes = 5};
  input.status = std::make_shared<NodeStatus>(status);
  const std::string text = render_metrics(input);
  INFO(text);
  for (const char* line : {R"(vfrail_claims_prepared 7)", R"(vfrail_claim_prepares_total{result="ok"} 1)",
                           R"(vfrail_claim_prepares_total{result="failed"} 1)",
                           R"(vfrail_claim_prepare_failures_total{id="VF-CLAIM-REFUSED"} 1)",
                           R"(vfrail_claim_prepare_duration_seconds_bucket{le="0.025"} 1)",
                           R"(vfrail_claim_prepare_duration_seconds_count 2)",
                           R"(vfrail_claim_unprepare_failures_total{id="VF-DEVICE-IN-USE"} 1)",
                           R"(vfrail_claim_unprepare_duration_seconds_count 1)", R"(vfrail_dra_published 0)",
                           R"(vfrail_dra_not_published{id="VF-BUSY"} 1)", R"(vfrail_dra_slices 2)",
                           R"(vfrail_dra_slice_writes_total 5)"})
    CHECK(has_line(text, line));
  check_with_promtool(text);
  status.offer = OfferStatus{.published = true};
  input.status = std::make_shared<NodeStatus>(status);
  CHECK(has_line(render_metrics(input), "vfrail_dra_published 1"));
  CHECK(render_metrics(input).find("vfrail_dra_not_published{") == std::string::npos);
}

TEST_CASE("a resource that matches no device has its series, with 0") {
  MetricsInput input = make_input(1);
  NodeStatus status = *input.status;
  Pool none;
  none.config.prefix = "nvidia.com";
  none.config.name = "none";
  status.resources.push_back({.pool = PublishedPool(std::move(none))});
  input.status = std::make_shared<NodeStatus>(status);
  const std::string text = render_metrics(input);
  CHECK(has_line(text, R"(vfrail_devices{resource="nvidia.com/none",state="healthy"} 0)"));
  CHECK(has_line(text, R"(vfrail_devices{resource="nvidia.com/none",state="unhealthy"} 0)"));
  CHECK(has_line(text, R"(vfrail_devices_in_use{resource="nvidia.com/none"} 0)"));
  CHECK(has_line(text, R"(vfrail_resource_registered{resource="nvidia.com/none"} 0)"));
}

TEST_CASE("a bundle that lacks a device is an unhealthy unit, although each device is healthy") {
  MetricsInput input = make_input(1);
  Pool rails = *input.status->resources.front().pool;
  rails.config.unit = UnitKind::bundle;
  rails.devices.clear();
  for (const uint8_t bus : {uint8_t{3}, uint8_t{5}}) {
    for (int index = 0; index < (bus == 3 ? 2 : 1); ++index) {
      PoolDevice& device = rails.devices.emplace_back();
      device.facts.pf = PciAddress{0, bus, 0, 0};
      device.facts.address = PciAddress{0, bus, static_cast<uint8_t>(index + 1), 0};
      device.facts.id = DeviceId(device.facts.address);
      device.facts.vf_index = index;
    }
  }
  NodeStatus status = *input.status;
  status.resources.front().pool = PublishedPool(std::move(rails));
  input.status = std::make_shared<NodeStatus>(status);
  const std::string text = render_metrics(input);
  CHECK(has_line(text, R"(vfrail_devices{resource="nvidia.com/hostdev",state="healthy"} 3)"));
  CHECK(has_line(text, R"(vfrail_units{resource="nvidia.com/hostdev",state="healthy"} 1)"));
  CHECK(has_line(text, R"(vfrail_units{resource="nvidia.com/hostdev",state="unhealthy"} 1)"));
}

TEST_CASE("promtool accepts the metrics") {
  check_with_promtool(render_metrics(make_input(3)));
  auto gaps = make_input(2);
  gaps.in_use = nullptr;
  gaps.devices.begin()->second = {.traffic = {},
                                  .rdma = {},
                                  .no_traffic = NoCounters::silent_driver,
                                  .no_rdma = NoCounters::pod_out_of_reach};
  const std::string text = render_metrics(gaps);
  check_with_promtool(text);
  CHECK(has_line(text, R"(vfrail_devices_without_counters{counters="traffic",reason="silent_driver"} 1)"));
  CHECK(has_line(text, R"(vfrail_devices_without_counters{counters="rdma",reason="pod_out_of_reach"} 1)"));
  CHECK(text.find("vfrail_devices_in_use") == std::string::npos);
  CHECK(has_line(text, "vfrail_cdi_enabled 0"));
  MetricsInput empty;
  empty.status = std::make_shared<const NodeStatus>();
  empty.uses_cdi = true;
  CHECK(has_line(render_metrics(empty), "vfrail_cdi_enabled 1"));
  check_with_promtool(render_metrics(empty));
}

TEST_CASE("each device of a bundle has the name of the pod that has the bundle, a shared one has none") {
  auto input = make_input(4);
  auto pool = std::make_shared<Pool>(*input.status->resources.front().pool);
  for (size_t i = 0; i < 4; ++i) {
    pool->devices[i].facts.pf = PciAddress{0, static_cast<uint8_t>(8 + i / 2), 0, 0};
    pool->devices[i].facts.vf_index = static_cast<int>(i % 2);
  }
  auto in_use = std::make_shared<DevicesInUse>();
  in_use->resources["nvidia.com/hostdev"]["bundle-1"] = {"ml", "train-1", "main"};
  in_use->resources["nvidia.com/hostdev"]["1"] = {"ml", "train-1", "main"};
  input.in_use = in_use;
  const auto labelled = [&](UnitKind unit) {
    pool->config.unit = unit;
    pool->config.units = 4;
    auto status = std::make_shared<NodeStatus>(*input.status);
    status->resources.front().pool = *pool;
    input.status = status;
    const std::string text = render_metrics(input);
    std::vector<size_t> out;
    for (size_t i = 0; i < 4; ++i) {
      const std::string device =
          "vfrail_device_receive_bytes_total{resource=\"nvidia.com/hostdev\",device=\"" + device_id(i) +
          "\",namespace=\"ml\",pod=\"train-1\"";
      if (text.find(device) != std::string::npos) out.push_back(i);
    }
    return out;
  };
  CHECK(labelled(UnitKind::bundle) == std::vector<size_t>{1, 3});
  CHECK(labelled(UnitKind::shared).empty());
}

TEST_CASE("series about devices are bounded, and those in use stay") {
  const auto input = make_input(100);
  const std::string text = render_metrics(input, 20);  // two devices have 14
  CHECK(has_line(text, "vfrail_series_dropped 686"));
  CHECK(has_line(text, "vfrail_devices_dropped 98"));
  CHECK(
      has_line(text,
               "# left out: 686 series about 98 devices, because --metrics-max-series is 20; devices in use "
               "come first"));
  CHECK(text.find("pod=\"train-0\"") != std::string::npos);
  CHECK(text.find("device=\"0000:00:00.0\"") != std::string::npos);
  CHECK(text.find("device=\"0000:00:00.2\"") == std::string::npos);
  check_with_promtool(text);
}

TEST_CASE("a label has the text it was given, whatever that is") {
  MetricsText text;
  text.gauge("vfrail_x", "X.");
  text.sample({{"a", "back\\slash \"quoted\"\nline"}, {"b", ""}, {"c", "\xff"}}, uint64_t{1});
  text.sample({}, 0.0025);
  CHECK(std::move(text).take() ==
        "# HELP vfrail_x X.\n# TYPE vfrail_x gauge\n"
        "vfrail_x{a=\"back\\\\slash \\\"quoted\\\"\\\\x0aline\",c=\"\\\\xff\"} 1\n"
        "vfrail_x 0.0025\n");
}

TEST_CASE("the process metrics have values") {
  const ProcessFacts facts = read_process_facts();
  CHECK(facts.resident_bytes > 1'000'000);
  CHECK(facts.virtual_bytes > facts.resident_bytes);
  CHECK(facts.threads >= 1);
  CHECK(facts.open_fds >= 3);
  CHECK(facts.start_seconds > 1'500'000'000);
}

}  // namespace vfrail::test

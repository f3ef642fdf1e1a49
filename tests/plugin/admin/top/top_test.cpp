// plugin/top: rates of counters, and what the loop prints of them.
#include "plugin/admin/top/top.h"

#include "common/container/claim_record.h"
#include "plugin/observe/metrics/device_counters.h"
#include "tests/plugin/admin/report/run.h"
#include "tests/plugin/tree.h"
#include "tests/support/json_schema.h"
#include "tests/support/places.h"
#include "tests/support/write_attachment.h"

#include <iterator>

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;

namespace {

using Clock = std::chrono::steady_clock;

DeviceCounters counters(std::vector<NamedCounter> named, std::optional<TrafficCounters> traffic = {}) {
  DeviceCounters out;
  out.traffic = traffic;
  out.rdma = {{.device = "mlx5_2", .port = 1, .counters = std::move(named)}};
  return out;
}

DeviceReading reading(std::vector<NamedCounter> named) {
  return {.id = "0000:17:00.2",
          .names = "mlx5_2",
          .pod = "team/train-0",
          .speed_mbps = 200'000,
          .counts = counts_of({}, counters(std::move(named)).rdma)};
}

Reading at(int milliseconds, std::vector<DeviceReading> devices) {
  return {.time = Clock::time_point(std::chrono::milliseconds(milliseconds)), .devices = std::move(devices)};
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// A captured tree is no node with a kubelet.
Result<DevicesInUse> no_kubelet(const std::string& folder) {
  FAIL("kubelet of " << folder << " was asked");
  return Error{Errc::not_found, 0, "no kubelet"};
}

// A loop over these readings, each after one interval.
std::string watched(std::vector<Reading> readings, TopOptions options, bool is_terminal = false) {
  std::string out;
  size_t next = 0;
  options.count = static_cast<unsigned>(readings.size() - 1);
  const DrawRates draw = [](const std::vector<DeviceRates>& rates) {
    return render_rates(rates, {.width = 0});
  };
  const auto ended = watch_traffic(options, {.read = [&]() -> Result<Reading> { return readings.at(next++); },
                                             .wait = [](double) { return true; },
                                             .print = [&](const std::string& text) { out += text; },
                                             .draw = is_terminal ? draw : DrawRates(),
                                             .summarise = render_summary});
  REQUIRE(ended);
  return out;
}

}  // namespace

TEST_CASE("words of InfiniBand's counters are bytes, and counters of one kind are added up") {
  const DeviceCounters read = counters(
      {{"port_rcv_data", 10}, {"local_ack_timeout_err", 1}, {"packet_seq_err", 2}, {"unknown_to_us", 9}},
      TrafficCounters{.rx_bytes = 7});
  const Counts counts = counts_of(read.traffic, read.rdma);
  const auto of = [&](Count count) { return counts[static_cast<size_t>(count)]; };
  CHECK(of(Count::rdma_rx_bytes) == 40);
  CHECK(of(Count::retransmissions) == 3);
  CHECK(of(Count::net_rx_bytes) == 7);
  CHECK_FALSE(of(Count::rdma_tx_bytes));
}

TEST_CASE("a rate is the difference over the time, and the percentage that of the port's speed") {
  const auto rates =
      rates_between(at(1000, {reading({{"port_rcv_data", 0}, {"port_xmit_data", 5}})}),
                    at(3000, {reading({{"port_rcv_data", 6'250'000'000}, {"port_xmit_data", 5}})}));
  REQUIRE(rates.size() == 1);
  CHECK(*rates[0][Count::rdma_rx_bytes] == 12.5e9);
  CHECK(*rates[0][Count::rdma_tx_bytes] == 0);
  CHECK(*rates[0].percent() == 50);
  CHECK_FALSE(rates[0][Count::rdma_rx_packets]);
}

TEST_CASE("a counter that began anew, and a device that was not there before, have no rate") {
  const auto again =
      rates_between(at(0, {reading({{"rcvd_pkts", 100}})}), at(1000, {reading({{"rcvd_pkts", 3}})}));
  REQUIRE(again.size() == 1);
  CHECK_FALSE(again[0][Count::rdma_rx_packets]);
  CHECK(rates_between(at(0, {}), at(1000, {reading({{"rcvd_pkts", 3}})})).empty());
  CHECK(rates_between(at(0, {reading({})}), at(0, {reading({})})).empty());
}

TEST_CASE("without a terminal each device has a line for each interval, then comes the summary") {
  const std::string out =
      watched({at(0, {reading({{"port_xmit_data", 0}})}), at(1000, {reading({{"port_xmit_data", 250}})}),
               at(2000, {reading({{"port_xmit_data", 1000}})})},
              {});
  CHECK(contains(out, " 0000:17:00.2 pod=team/train-0 rdma_tx_bytes=1000\n"));
  CHECK(contains(out, " rdma_tx_bytes=3000\n"));
  CHECK(contains(out, "\nIn 2.0 s:\n"));
  CHECK(contains(out, "0000:17:00.2  team/train-0  rdma_tx_bytes  4.0 k  3.0 k   2.0 k      1.0 k"));
}

TEST_CASE("on a terminal it is a table, with a dash for what is not counted") {
  const std::string out = watched(
      {at(0, {reading({{"port_xmit_data", 0}})}), at(1000, {reading({{"port_xmit_data", 6'250'000'000}})})},
      {}, true);
  CHECK(contains(out, "RDMA TX"));
  CHECK(contains(out, "200 Gb/s"));
  CHECK(contains(out, "100"));
  CHECK(contains(out, " - "));
}

TEST_CASE("columns that a narrow terminal has no room for are named below the table") {
  const auto rates = rates_between(at(0, {reading({{"port_xmit_data", 0}})}),
                                   at(1000, {reading({{"port_xmit_data", 250}})}));
  CHECK(contains(render_rates(rates, {.width = 80}), "hidden, the terminal is too narrow: "));
  CHECK(contains(render_rates(rates, {.width = 80}), "DISCARDS/S"));
  CHECK_FALSE(contains(render_rates(rates, {.width = 0}), "hidden"));
}

TEST_CASE("a signal ends the loop with the summary of what there was") {
  std::string out;
  const auto ended = watch_traffic({}, {.read = [] { return Result<Reading>(at(0, {})); },
                                        .wait = [](double) { return false; },
                                        .print = [&](const std::string& text) { out += text; }});
  REQUIRE(ended);
  CHECK(out == "\nIn 0.0 s no device had traffic.\n");
}

TEST_CASE("JSON is a document for each interval, as the schema says") {
  TopOptions options;
  options.json = true;
  const std::string out = watched(
      {at(0, {reading({{"port_rcv_data", 0}})}), at(500, {reading({{"port_rcv_data", 5}})})}, options);
  const auto json = Json::parse(out);
  REQUIRE(json);
  CHECK(*json->find("interval_ms")->as_int() == 500);
  CHECK(json->find("traffic")->as_array()->at(0).find("per_second")->text() == R"({"rdma_rx_bytes":40})");
  const std::string schema = test::source_text("plugin/admin/report/schema.json");
  CHECK(test::schema_violation(schema, out) == "");
}

TEST_CASE("a node that cannot be read ends it with the reason") {
  const auto ended = watch_traffic({}, {.read = [] {
                                     return Result<Reading>(Error{Errc::not_found, 0, "no sysfs"});
                                   }});
  REQUIRE_FALSE(ended);
  CHECK(ended.error().text == "no sysfs");
}

TEST_CASE("a node that cannot be read any more ends it with the summary, and with the reason") {
  std::vector<Result<Reading>> readings = {at(0, {reading({{"rcvd_pkts", 0}})}),
                                           at(1000, {reading({{"rcvd_pkts", 7}})}),
                                           Error{Errc::system, 0, "EIO"}};
  size_t next = 0;
  std::string out;
  const auto ended = watch_traffic({}, {.read = [&] { return readings.at(next++); },
                                        .wait = [](double) { return true; },
                                        .print = [&](const std::string& text) { out += text; }});
  REQUIRE_FALSE(ended);
  CHECK(ended.error().text == "EIO");
  CHECK(contains(out, "In 1.0 s:\n"));
}

TEST_CASE("of a shared device any of its pods can be asked for, and a name that nothing has is an error") {
  test::Tree tree("igb_node");
  tree.move_to_pod("0000:21:10.2");
  Record record;
  record.attachment = {"c1", "net1"};
  record.device_key = "0000:21:10.2";
  record.cni_args = "K8S_POD_NAMESPACE=team;K8S_POD_NAME=train-0";
  test::write_attachment(Attachments(tree.root() + "/var/lib/cni/vfrail"), record);
  const auto top_of = [&](const std::string& pod, std::vector<std::string> devices) {
    TopOptions options;
    options.root = tree.root();
    options.devices = std::move(devices);
    options.pod = pod;
    options.interval = 0.01;
    options.count = 1;
    options.json = true;
    return test::run([&] { return top(options, no_kubelet); });
  };
  const auto of_pod = top_of("team/train-0", {});
  CHECK(of_pod.code == 0);
  CHECK(contains(of_pod.out, R"("id":"0000:21:10.2")"));
  CHECK_FALSE(contains(of_pod.out, R"("id":"0000:21:10.0")"));
  CHECK(contains(top_of("team/other", {}).err, "no device here is allocated to a pod \"team/other\""));
  CHECK(contains(top_of("", {"21:10.0", "eth99"}).err, "no function here is called \"eth99\""));
  const auto by_rdma = top_of("", {"mlx5_0"});
  CHECK(by_rdma.code == 0);
  CHECK(contains(by_rdma.out, R"("id":"0000:21:10.0")"));
}

TEST_CASE("a device that a pod has by a claim has that pod, and the claim") {
  const test::Tree tree("igb_node");
  const ClaimRecord record{.claim = {"team", "nics", "uid-1"},
                           .pod = {"train-0", "77"},
                           .node_pool = "node-1",
                           .requests = {{"nic", {{"0000-21-10-0", "nvidia.com/hostdev", "0000:21:10.0"}}}}};
  REQUIRE(write_claim(tree.root() + "/run/vfrail", record));
  TopOptions options;
  options.root = tree.root();
  options.pod = "team/train-0";
  options.interval = 0.01;
  options.count = 1;
  const auto result = [&] { return test::run([&] { return top(options, no_kubelet); }); };
  CHECK(contains(result().out, " 0000:21:10.0 pod=team/train-0 claim=nics/nic"));
  options.json = true;
  const auto json = result();
  CHECK(json.code == 0);
  CHECK(contains(json.out, R"("pod":"team/train-0","claim":"nics/nic")"));
  CHECK_FALSE(contains(json.out, "0000:21:10.2"));
  CHECK(test::schema_violation(test::source_text("plugin/admin/report/schema.json"), json.out) == "");
}

TEST_CASE("the table has a column for claims where there are some") {
  DeviceRates rates{.device = reading({})};
  CHECK_FALSE(contains(render_rates({rates}, {.width = 0}), "CLAIM"));
  rates.device.claim = "nics/nic";
  CHECK(contains(render_rates({rates}, {.width = 0}), "team/train-0  nics/nic "));
}

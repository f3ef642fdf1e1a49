#include "plugin/admin/report/report.h"

#include "common/escape.h"
#include "common/text.h"
#include "plugin/admin/report/report_trace.h"
#include "plugin/device/config/formats/parse_config.h"
#include "plugin/device/match/selection_trace.h"
#include "plugin/documents/yaml_text.h"
#include "tests/plugin/tree.h"
#include "tests/support/write_attachment.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;
using test::Tree;

namespace {

Config hostdev() {
  auto parsed = parse_config(
      R"({"resourceList":[{"resourcePrefix":"nvidia.com","resourceName":"hostdev",
          "selectors":{"vendors":["8086"],"isRdma":true,"pfNames":["eth0#0-2","eth1#0"]}}]})",
      {"c.json", "intel.com", false});
  if (!parsed) FAIL(parsed.error().text);
  return *std::move(parsed);
}

const AttachmentName kAttachment{"4f6c93ab12cd99", "net1"};

// A node with one VF in a pod, one with its port down, and what no resource has.
struct ReportScene {
  void record(const std::string& cni_args) const {
    Record out;
    out.attachment = kAttachment;
    out.device_key = "0000:21:10.2";
    out.cni_args = cni_args;
    test::write_attachment(attachments, out);
  }
  ReportScene() {
    tree.add("proc/1/net/route | eth9\t00000000\t0100000A\t0003\t0\t0\t0\t00000000\t0\t0\t0");
    tree.move_to_pod("0000:21:10.2");
    tree.add("sys/bus/pci/devices/0000:21:10.4/infiniband/mlx5_2/ports/1/state = 1: DOWN");
    record("IgnoreUnknown=1;K8S_POD_NAMESPACE=team;K8S_POD_NAME=train-0");
    facts.config_file = "c.json";
    facts.config = hostdev();
    facts.inventory = tree.scan();
    mark_attached(*attachments.owners(), facts.inventory);
    facts.pools = match(*facts.config, facts.inventory);
    add_attached(attachments, facts.inventory, facts.pods);
    facts.hardware["0000:21:00.0"] = {"Intel Corporation", "82576 Gigabit Network Connection", 1000};
    facts.warnings = {{"something is odd", ErrorId::config_doubtful}};
  }
  std::string table(const TableOptions& options = {
                        .terminal = {.width = 0, .colours = false, .utf8 = false}}) const {
    return render_table(make_report(facts), options);
  }
  Tree tree{"igb_node"};
  Attachments attachments{tree.root() + "/var/lib/cni/vfrail"};
  InspectFacts facts;
};

}  // namespace

TEST_CASE("the table is a tree with state, resource and pod, and has each reason once") {
  const ReportScene scene;
  CHECK(
      scene.table() ==
      R"(DEVICE          VF  NETDEV  RDMA    DRIVER  LINK          SPEED  NUMA  GPU  STATE             RESOURCE            POD           MODEL
0000:21:00.0    -   eth0    -       igb     ether up      1G     0     -    PF with VFs [1]   -                   -             82576 Gigabit Network Connection
|-0000:21:10.0  0   eth2    mlx5_0  igbvf   ether ACTIVE  -      0     -    healthy           nvidia.com/hostdev  -             -
|-0000:21:10.2  1   -       -       igbvf   ether         -      0     -    allocated         nvidia.com/hostdev  team/train-0  -
|-0000:21:10.4  2   eth4    mlx5_2  igbvf   ether DOWN    -      0     -    healthy           nvidia.com/hostdev  -             -
`-0000:21:10.6  3   eth5    mlx5_3  igbvf   ether ACTIVE  -      0     -    not selected [2]  -                   -             -
0000:41:00.0    -   eth1    -       igb     ether up      -      1     -    PF with VFs [1]   -                   -             8086:10c9
|-0000:41:10.0  0   eth6    mlx5_4  igbvf   ether ACTIVE  -      1     -    healthy           nvidia.com/hostdev  -             -
|-0000:41:10.2  1   eth7    mlx5_5  igbvf   ether ACTIVE  -      1     -    not selected [2]  -                   -             -
|-0000:41:10.4  2   eth8    mlx5_6  igbvf   ether ACTIVE  -      1     -    not selected [2]  -                   -             -
`-0000:41:10.6  3   eth9    mlx5_7  igbvf   ether ACTIVE  -      1     -    not selected [2]  -                   -             -

[1] PF with 4 VFs: only its VFs are advertised
[2] nvidia.com/hostdev: PF does not match, want one of [eth0#0-2, eth1#0]

nvidia.com/hostdev: 4 devices: 1 allocated, 3 healthy
in no resource: 6 functions
configuration: c.json
RDMA network namespace mode: exclusive
warning: something is odd [VF-CONFIG-DOUBTFUL]
)");
}

TEST_CASE(
    "a function through which NVLink is managed has that for its state, with and without a configuration") {
  const Tree tree("b200");
  InspectFacts facts;
  facts.inventory = tree.scan();
  const TableOptions options{.terminal = {.width = 0, .colours = false, .utf8 = false}};
  CHECK(render_table(make_report(facts), options).find("  NVLink  ") != std::string::npos);
  facts.config = hostdev();
  facts.pools = match(*facts.config, facts.inventory);
  const std::string table = render_table(make_report(facts), options);
  CHECK(table.find("  NVLink [") != std::string::npos);
  CHECK(table.find("host use") == std::string::npos);
}

TEST_CASE("a device that is not in the host is in a pod only if kubelet or a record says so") {
  ReportScene scene;
  scene.facts.pods.clear();
  const std::string other_netns = scene.table();
  CHECK(other_netns.find(" allocated ") == std::string::npos);
  CHECK(other_netns.find("other netns  ") != std::string::npos);
  DevicesInUse in_use;
  in_use.resources["nvidia.com/hostdev"]["0000:21:10.2"] = {"other", "job-1", "main"};
  add_allocated(scene.facts.pools, in_use, scene.facts.pods);
  // Kubelet's word counts, and a record adds nothing to it.
  add_attached(scene.attachments, scene.facts.inventory, scene.facts.pods);
  CHECK(scene.facts.pods.at("0000:21:10.2") == std::vector<PodUse>{{"other", "job-1", "main"}});
  CHECK(scene.table().find(" other/job-1 ") != std::string::npos);
}

TEST_CASE("a device that a claim has stands with its pod, claim and request, and its resource with its way") {
  ReportScene scene;
  ClaimRecord record{
      .claim = {"team", "nics", "1"}, .pod = {"train-0", "77"}, .node_pool = "node-1", .requests = {}};
  record.requests = {{"nic", {{"0000-21-10-2", "nvidia.com/hostdev", "0000:21:10.2"}}},
                     {"rail", {{"0000-21-10-4", "nvidia.com/hostdev", "0000:21:10.4"}}}};
  add_claims({record}, scene.facts.pools, scene.facts.pods);
  scene.facts.claims.offer = OfferState{
      .driver = "vfrail.io", .resources = {"nvidia.com/hostdev"}, .reason = "no API server", .id = "VF-BUSY"};
  const std::string table = scene.table();
  INFO(table);
  // vfrail-cni has the one by its record, the other's pod only the claim names.
  CHECK(table.find(" team/train-0  nics (nic) ") != std::string::npos);
  CHECK(table.find(" team/train-0  nics (rail) ") != std::string::npos);
  CHECK(table.find("nvidia.com/hostdev: 4 devices: 2 allocated, 2 healthy; by DRA, not published by "
                   "vfrail.io: no API server [VF-BUSY]\n") != std::string::npos);
  const Json json = render_json(make_report(scene.facts));
  for (const Json& device : *json.find("devices")->as_array()) {
    if (*device.find("id")->as_text() != "0000:21:10.4") continue;
    const Json& use = device.find("pods")->as_array()->front();
    CHECK(
        use.text() ==
        R"({"namespace":"team","name":"train-0","container":null,"source":"claim","claim":"nics","request":"rail"})");
  }
  CHECK(
      json.find("resources")->as_array()->front().find("dra")->text() ==
      R"({"driver":"vfrail.io","pool":null,"published":false,"not_published_reason":"no API server","not_published_id":"VF-BUSY"})");
  scene.facts.claims.offer->resources.clear();
  CHECK(scene.table().find("2 healthy; by the device plugin\n") != std::string::npos);
}

TEST_CASE("a pod that kubelet names keeps its container, and gets the claim") {
  ReportScene scene;
  scene.facts.pods.clear();
  DevicesInUse in_use;
  in_use.resources["nvidia.com/hostdev"]["0000:21:10.2"] = {"team", "train-0", "main"};
  add_allocated(scene.facts.pools, in_use, scene.facts.pods);
  ClaimRecord record{
      .claim = {"team", "nics", "1"}, .pod = {"train-0", "77"}, .node_pool = "node-1", .requests = {}};
  record.requests = {{"nic", {{"0000-21-10-2", "nvidia.com/hostdev", "0000:21:10.2"}}}};
  add_claims({record}, scene.facts.pools, scene.facts.pods);
  REQUIRE(scene.facts.pods.at("0000:21:10.2").size() == 1);
  const PodUse& use = scene.facts.pods.at("0000:21:10.2").front();
  CHECK(use.container == "main");
  CHECK(use.claim == "nics");
  CHECK(use.request == "nic");
}

TEST_CASE("an incomplete or unreadable record still shows which container has the device") {
  ReportScene scene;
  const auto use = [&] {
    PodsById pods;
    add_attached(scene.attachments, scene.facts.inventory, pods);
    REQUIRE(pods.at("0000:21:10.2").size() == 1);
    return pods.at("0000:21:10.2")[0].text();
  };
  scene.record("IgnoreUnknown=1");
  CHECK(use() == "container 4f6c93ab12cd");
  std::ofstream(scene.attachments.record_path(kAttachment)) << "no JSON";
  CHECK(use() == "container 4f6c93ab12cd");
  // The link is there no more, the scan that saw it was before.
  std::filesystem::remove(scene.attachments.owner_path("0000:21:10.2"));
  CHECK(use().empty());
}

TEST_CASE("the pod of a shared resource is known where a unit is one device, and not where it is all") {
  const ReportScene scene;
  for (const auto& [unit, pods] : {std::pair("one", size_t{1}), std::pair("all", size_t{0})}) {
    const auto config =
        parse_config(std::string(R"({"configList":[{"resourceName":"hca","rdmaHcaMax":8,"hcaPerUnit":")") +
                         unit + R"(","selectors":{"pfNames":["eth0#0"]}}]})",
                     {"c.json", "intel.com", true});
    REQUIRE(config);
    const Pools pools = match(*config, scene.facts.inventory);
    REQUIRE(pools.pools[0].devices.size() == 1);
    DevicesInUse in_use;
    in_use.resources["rdma/hca"]["3"] = in_use.resources["rdma/hca"]["5"] = {"team", "a", "main"};
    PodsById known;
    add_allocated(pools, in_use, known);
    CHECK(known["0000:21:10.0"].size() == pods);
  }
}

TEST_CASE("what excludes a function from several resources is one reason, with those resources") {
  ReportScene scene;
  const auto config = parse_config(R"({"resourceList":[{"resourceName":"a","selectors":{"vendors":["dead"]}},
      {"resourceName":"b","selectors":{"vendors":["dead"]}}]})",
                                   {"c.json", "intel.com", false});
  REQUIRE(config);
  scene.facts.config = *config;
  scene.facts.pools = match(*scene.facts.config, scene.facts.inventory);
  const NodeReport report = make_report(scene.facts);
  const DeviceReport& vf = report.devices.at(1);
  REQUIRE(vf.reasons.size() == 1);
  CHECK(vf.reasons[0].text == "vendor is 8086, want one of [dead]");
  CHECK(vf.reasons[0].id == ErrorId::not_selected);
  CHECK(vf.reasons[0].resources == std::vector<std::string>{"intel.com/a", "intel.com/b"});
}

TEST_CASE("a narrow table keeps device, state and resource, and names what it omits") {
  const ReportScene scene;
  const std::string table = scene.table({.terminal = {.width = 60, .colours = false, .utf8 = true}});
  const auto lines = split(table, "\n");
  for (const std::string& line : lines) CHECK(display_width(line) <= 60);
  CHECK(lines[0] == "DEVICE          NETDEV  STATE             RESOURCE");
  CHECK(lines[2] == "├─0000:21:10.0  eth2    healthy           nvidia.com/hostdev");
  CHECK(table.find("\nhidden, the terminal is too narrow: ") != std::string::npos);
  CHECK(scene.table({.terminal = {.width = 30, .colours = false, .utf8 = false}}).find("\x1b") ==
        std::string::npos);
}

TEST_CASE("states have colours on a terminal, and the columns stay where they are") {
  const ReportScene scene;
  const std::string plain = scene.table();
  std::string coloured = scene.table({.terminal = {.width = 0, .colours = true, .utf8 = false}});
  CHECK(coloured.find("\x1b[32mhealthy\x1b[0m ") != std::string::npos);
  for (size_t at = coloured.find('\x1b'); at != std::string::npos; at = coloured.find('\x1b'))
    coloured.erase(at, coloured.find('m', at) + 1 - at);
  CHECK(coloured == plain);
}

TEST_CASE("a node without network functions is reported as such") {
  const InspectFacts nothing;
  CHECK(render_table(make_report(nothing)).find("There is no PCI network function.\n") == 0);
}

TEST_CASE("the JSON has each device with state, resources, reasons and pods, and all of its facts") {
  const ReportScene scene;
  const Json json = render_json(make_report(scene.facts));
  CHECK(*json.find("schema_version")->as_int() == kSchemaVersion);
  const Json::Array& devices = *json.find("devices")->as_array();
  REQUIRE(devices.size() == 10);
  CHECK(*devices[0].find("state")->as_text() == "has_vfs");
  CHECK(devices[0].find("reasons")->text() ==
        R"([{"id":"VF-PF-HAS-VFS","text":"PF with 4 VFs: only its VFs are advertised","resources":[]}])");
  CHECK(*devices[0].find("driver")->as_text() == "igb");
  CHECK(*devices[0].find("speed_mbps")->as_int() == 1000);
  CHECK(*devices[0].find("device_name")->as_text() == "82576 Gigabit Network Connection");
  const Json& first = devices[1];
  CHECK(*first.find("id")->as_text() == "0000:21:10.0");
  CHECK(*first.find("state")->as_text() == "healthy");
  CHECK(*first.find("resources")->as_array()->at(0).find("allocates")->find("rdma")->as_bool());
  CHECK(*first.find("pf_name")->as_text() == "eth0");
  CHECK(*first.find("vf_index")->as_int() == 0);
  CHECK(*first.find("netdevs")->as_array()->at(0).find("name")->as_text() == "eth2");
  CHECK(*first.find("rdma")->as_array()->at(0).find("uverbs")->as_text() == "uverbs0");
  CHECK(
      devices[2].find("pods")->text() ==
      R"([{"namespace":"team","name":"train-0","container":"4f6c93ab12cd99","source":"record","claim":null,"request":null}])");
  CHECK(devices[4].find("reasons")->as_array()->at(0).find("resources")->text() ==
        R"(["nvidia.com/hostdev"])");
  CHECK(devices[9].find("host_use")->as_array()->size() == 1);
  CHECK(*json.find("rdma_netns_mode")->as_text() == "exclusive");
  CHECK(*json.find("warnings")->as_array()->at(0).as_text() == "something is odd [VF-CONFIG-DOUBTFUL]");
}

TEST_CASE("a text is wrapped at blanks, and a word that is too long stays whole") {
  CHECK(wrapped("one two three", 8, 2) == "one two\n  three");
  CHECK(wrapped("one two three", 0, 2) == "one two three");
  CHECK(wrapped("a verylongword b", 6, 2) == "a\n  verylongword\n  b");
}

TEST_CASE("control characters in names are escaped in the table, the explanation and JSON") {
  ReportScene scene;
  DeviceFacts& function = scene.facts.inventory.functions[1];
  REQUIRE_FALSE(function.netdevs.empty());
  REQUIRE_FALSE(function.rdma.empty());
  function.netdevs.front().name = "e\x1b[2J\xC2\x9b";
  function.rdma.front().name = "mlx\nin no resource: 0 functions\x7f";
  function.host_use.push_back({HostUseFact::Kind::address, "address of \x1b]0;x\x07"});
  scene.facts.pools = match(*scene.facts.config, scene.facts.inventory);
  scene.facts.pools.left_out.front().reasons.push_back({ErrorId::not_selected, "a \x1b[1m reason"});
  scene.facts.warnings = {{"a \x1b[1m warning", ErrorId::config_doubtful}};
  const auto traces = trace_selection(*scene.facts.config, scene.facts.inventory, scene.facts.pools);
  for (const std::string& text :
       {scene.table(), render_traces(traces, scene.facts.inventory),
        render_json(make_report(scene.facts)).pretty(), to_yaml(render_json(make_report(scene.facts)))}) {
    CHECK(text.find("\nin no resource: 0 functions") == std::string::npos);
    std::string lines = text;
    std::replace(lines.begin(), lines.end(), '\n', ' ');
    CHECK(escaped(lines) == lines);
  }
}

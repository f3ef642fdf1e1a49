#include "plugin/kube/view/view_text.h"

#include "plugin/kube/view/view_json.h"
#include "tests/kube/view/made_cluster.h"

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::kube;
using namespace vfrail::test;

namespace {

const ClusterView& whole_view() {
  static const ClusterView kView = make_cluster_view(made_cluster(), {});
  return kView;
}

ClusterFacts checked_cluster() {
  ClusterFacts out;
  const auto page = [](const std::string& checks) { return json_of(R"({"checks": [)" + checks + "]}"); };
  const std::string down = R"({"id": "VF-P01", "name": "port", "finding": "fault", "text": "port 1 is down",
                               "remedy": "check the cable"})";
  const std::string note = R"({"id": "VF-A01", "name": "acs", "finding": "note", "text": "ACS is on"})";
  const std::string good = R"({"id": "VF-N04", "name": "mode", "finding": "ok", "text": "x"})";
  out.pages = {
      {"node-2", page(down + "," + good)}, {"node-1", page(note + "," + down)}, {"node-3", page(good)}};
  out.gaps = {{"node-7", "no answer: 503"}, {"node-8", "no answer: 503"}};
  return out;
}

}  // namespace

TEST_CASE("nodes are a table of their resources, with what is not in the view below it") {
  CHECK(nodes_text(whole_view(), {.wide = true}) ==
        "NODE    STATE  RESOURCE            CAPACITY  ALLOCATABLE  IN USE  FREE  UNHEALTHY  REASON\n"
        "node-1  Ready  nvidia.com/hostdev  2         2            2       0     0          -\n"
        "node-2  Ready  nvidia.com/hostdev  2         1            1       0     1          "
        "0000:18:00.3: port 1 of mlx5_3 is DOWN\n"
        "node-3  Ready  nvidia.com/hostdev  1         1            1       0     ?          -\n"
        "not in this view: node-3: no answer: 503\n");
}

TEST_CASE("a narrow terminal has the columns that matter, and the names of the others") {
  const std::string text = nodes_text(whole_view(), {.width = 60});
  CHECK(text.find("FREE") != std::string::npos);
  CHECK(text.find("see -o wide: ") != std::string::npos);
}

TEST_CASE("devices are a table with their pods and addresses") {
  CHECK(devices_text(whole_view(), {.wide = true}) ==
        "NODE    DEVICE        RESOURCE            STATE      POD             ADDRESS        PORT    FAULT\n"
        "node-1  0000:18:00.2  nvidia.com/hostdev  allocated  train/worker-0  192.168.100.2  -       -\n"
        "node-1  0000:18:00.3  nvidia.com/hostdev  healthy    -               -              ACTIVE  -\n"
        "node-2  0000:18:00.2  nvidia.com/hostdev  allocated  train/worker-1  192.168.100.3  -       -\n"
        "node-2  0000:18:00.3  nvidia.com/hostdev  unhealthy  -               -              down    "
        "port 1 of mlx5_3 is DOWN\n"
        "not in this view: node-3: no answer: 503\n");
}

TEST_CASE("with traffic a device has what it receives and sends, in bits; a dash is not counted") {
  ClusterFacts facts = made_cluster();
  Rates rates;
  rates[static_cast<size_t>(Count::rdma_rx_bytes)] = 12.3e9;
  rates[static_cast<size_t>(Count::net_tx_bytes)] = 0;
  facts.traffic = {
      {"node-1", {{.device = {.id = "0000:18:00.2", .names = {}, .pod = {}, .claim = {}}, .rates = rates}}}};
  ClusterView view = make_cluster_view(facts, {});
  CHECK(devices_text(view, {.wide = true}).find("RDMA RX") == std::string::npos);
  view.has_traffic = true;
  const std::string text = devices_text(view, {.wide = true});
  CHECK(text.find("PORT    RDMA RX    RDMA TX  NET RX  NET TX  FAULT\n") != std::string::npos);
  CHECK(text.find("192.168.100.2  -       98.4 Gb/s  -        -       0 b/s   -\n") != std::string::npos);
  const Json json = devices_json(view);
  const Json& first = list_at(json, {"devices"}).at(0);
  CHECK(first.find("per_second")->text() == R"({"rdma_rx_bytes":12300000000,"net_tx_bytes":0})");
  CHECK(list_at(json, {"devices"}).at(1).find("per_second")->is_null());
}

TEST_CASE("pods that wait come first, and below the table why") {
  const std::string text = pods_text(whole_view(), {.wide = true});
  CHECK(text.find("\ntrain/worker-3  -") != std::string::npos);
  CHECK(text.find("\ntrain/worker-3 waits: Unschedulable: 0/4 nodes are available: 4 Insufficient "
                  "nvidia.com/hostdev.\n"
                  "    nvidia.com/hostdev: 0 of 2 free, 1 unhealthy, 0000:18:00.3: port 1 of mlx5_3 is "
                  "DOWN: node-2\n") != std::string::npos);
  CHECK(text.find("\ntrain/worker-4 waits: ContainerCreating\n") != std::string::npos);
  CHECK(text.find("1 nvidia.com/hostdev  0000:18:00.2  net1 192.168.100.2\n") != std::string::npos);
}

TEST_CASE("networks are a table with the addresses that are left") {
  CHECK(networks_text(whole_view(), {.wide = true}) ==
        "NETWORK        TYPE         RESOURCE            ATTACHMENTS  IPAM         ADDRESSES  LEFT  REMARK\n"
        "train/hostdev  host-device  nvidia.com/hostdev  2            whereabouts  28         26    -\n"
        "train/local    vfrail       nvidia.com/hostdev  0            host-local   -          -     "
        "kept on the nodes\n"
        "not in this view: node-3: no answer: 503\n");
}

TEST_CASE("findings of all nodes are grouped, faults first, nodes with the same text on one line") {
  CHECK(findings_text(group_findings(checked_cluster(), {}), {}) ==
        "fault  VF-P01  port: 2 nodes\n"
        "    node-1 node-2: port 1 is down\n"
        "        check the cable\n"
        "note  VF-A01  acs: 1 node\n"
        "    node-1: ACS is on\n"
        "3 nodes checked\n"
        "not in this view: node-7 node-8: no answer: 503\n");
  CHECK(findings_text(group_findings(checked_cluster(), {.node = "node-3"}), {}).find("nothing found\n") ==
        0);
}

TEST_CASE("what pods and networks are called does not reach the terminal as it is") {
  ClusterView view;
  view.gaps = {{"node-1", "no answer: \x1b[31m"}};
  CHECK(nodes_text(view, {}).find('\x1b') == std::string::npos);
}

TEST_CASE("JSON has null where nothing is known, and the gaps") {
  const Json nodes = nodes_json(whole_view());
  CHECK(nodes.find("schema_version")->as_int() != nullptr);
  const Json& silent = list_at(nodes, {"nodes"}).at(2);
  CHECK(*silent.find("answered")->as_bool() == false);
  CHECK(list_at(silent, {"resources"}).at(0).find("unhealthy")->is_null());
  CHECK(text_at(list_at(nodes, {"gaps"}).at(0), {"what"}) == "node-3");
  const Json devices = devices_json(whole_view());
  CHECK(text_at(list_at(list_at(devices, {"devices"}).at(0), {"pods"}).at(0), {"address"}) ==
        "192.168.100.2");
  const Json pods = pods_json(whole_view());
  CHECK(text_at(list_at(pods, {"pods"}).at(1), {"waits_for"}) == "ContainerCreating");
  const Json networks = networks_json(whole_view());
  CHECK(*list_at(networks, {"networks"}).at(0).find("addresses_left")->as_int() == 26);
  const Json findings = findings_json(group_findings(checked_cluster(), {}));
  CHECK(*list_at(findings, {"checks"}).at(0).find("nodes")->as_int() == 2);
}

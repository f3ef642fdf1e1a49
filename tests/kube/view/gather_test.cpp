// gather() and the commands upon it, with an API server that is a table of answers.
#include "plugin/kube/view/gather.h"

#include "plugin/kube/view/view_commands.h"
#include "tests/kube/view/made_cluster.h"

#include <atomic>
#include <map>
#include <mutex>
#include <set>

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::kube;
using namespace vfrail::test;

namespace {

// Outlives the readers.
struct MadeServer {
  std::map<std::string, Result<std::vector<Json>>> lists;  // by plural; not in it: 404
  std::map<std::string, Result<std::string>> pages;        // by path; not in it: 503
  bool restarts = false;                                   // a list of pods begins again in its middle
  std::atomic<size_t> readers{0};
  std::pair<std::string, std::string> after;  // a path, and its page when it has been read once
  std::mutex mutex;
  std::set<std::string> asked;

  OpenReader open() {
    return [this] {
      ++readers;
      return ClusterReader{
          .list = [this](
                      const ResourceType& type, const Selectors& selectors, const ClusterReader::Each& each,
                      const std::function<void()>& restart) { return list(type, selectors, each, restart); },
          .page = [this](const std::string& path) { return page(path); }};
    };
  }

 private:
  Result<> list(const ResourceType& type, const Selectors& selectors, const ClusterReader::Each& each,
                const std::function<void()>& restart) {
    const std::string plural(type.plural);
    {
      const std::lock_guard lock(mutex);
      asked.insert(plural + " " + selectors.fields);
    }
    const auto found = lists.find(plural);
    if (found == lists.end()) return Error{Errc::not_found, 404, "GET " + plural + ": 404"};
    if (!found->second) return found->second.error();
    if (restarts) {
      for (const Json& object : *found->second) each(Json(object));
      restart();
    }
    for (const Json& object : *found->second) each(Json(object));
    return {};
  }
  Result<std::string> page(const std::string& path) {
    const std::lock_guard lock(mutex);
    asked.insert(path);
    const auto found = pages.find(path);
    if (found == pages.end()) return Error{Errc::peer, 503, "GET " + path + ": 503"};
    Result<std::string> out = found->second;
    if (path == after.first) found->second = after.second;
    return out;
  }
};

Json vfrail_pod(const std::string& node, const std::string& phase = "Running") {
  return json_of(R"({"metadata": {"namespace": "kube-system", "name": "vfrail-)" + node +
                 R"(", "labels": {"app.kubernetes.io/name": "vfrail",
      "app.kubernetes.io/component": "device-plugin"}}, "spec": {"nodeName": ")" +
                 node + R"(", "containers": [{"ports": [{"name": "metrics", "containerPort": 9808}]}]},
      "status": {"phase": ")" +
                 phase + R"("}})");
}

std::string page_path(const std::string& node, const std::string& page) {
  return "/api/v1/namespaces/kube-system/pods/http:vfrail-" + node + ":9808/proxy/" + page;
}

void add_nodes(MadeServer& server, size_t count) {
  std::vector<Json> nodes;
  std::vector<Json> pods;
  for (size_t i = 0; i < count; ++i) {
    const std::string name = "node-" + std::to_string(i);
    nodes.push_back(node_object(name, 1, 1));
    pods.push_back(vfrail_pod(name));
    server.pages.insert_or_assign(
        page_path(name, "inspect"),
        std::string(R"({"resources": [{"name": "nvidia.com/hostdev"}], "devices": []})"));
  }
  server.lists.insert_or_assign("nodes", std::move(nodes));
  server.lists.insert_or_assign("pods", std::move(pods));
}

}  // namespace

TEST_CASE("each node's vfrail is asked for its page by the API server's proxy, at most 16 at a time",
          "[threads]") {
  MadeServer server;
  add_nodes(server, 500);
  const ClusterFacts facts = gather(server.open(), {});
  CHECK(facts.nodes.size() == 500);
  CHECK(facts.pages.size() == 500);
  CHECK(facts.gaps.empty());
  CHECK(server.readers == 17);  // and one for the lists
  CHECK(server.asked.contains(page_path("node-499", "inspect")));
  CHECK(server.asked.contains("pods status.phase!=Succeeded,status.phase!=Failed"));
}

TEST_CASE("a node that does not answer, or answers something else, is a gap beside the others") {
  MadeServer server;
  add_nodes(server, 4);
  server.pages.erase(page_path("node-0", "inspect"));
  server.pages.insert_or_assign(page_path("node-1", "inspect"), std::string("<html>"));
  server.pages.insert_or_assign(page_path("node-2", "inspect"), Error{Errc::not_found, 404, "404"});
  const ClusterFacts facts = gather(server.open(), {});
  REQUIRE(facts.pages.size() == 1);
  CHECK(facts.pages[0].node == "node-3");
  REQUIRE(facts.gaps.size() == 3);
  CHECK(facts.gaps[0].what == "node-0");
  CHECK(facts.gaps[0].why.find("no answer: ") == 0);
  CHECK(facts.gaps[1].why.find("its answer is not a page of vfrail: ") == 0);
  CHECK(facts.gaps[2].why.find("its vfrail serves no such page, with metrics.enabled=false in the chart") ==
        0);
}

TEST_CASE("with traffic each node's counters are read twice, and what it may not read is a gap") {
  MadeServer server;
  add_nodes(server, 3);
  const auto metrics = [](uint64_t bytes) {
    return "# HELP x\nvfrail_build_info{version=\"1\"} 1\n"
           "vfrail_device_receive_bytes_total{resource=\"r/x\",device=\"0000:18:00.2\"} " +
           std::to_string(bytes) +
           "\nvfrail_devices_without_counters{counters=\"rdma\",reason=\"pod_out_of_reach\"} 1\n";
  };
  server.pages.insert_or_assign(page_path("node-0", "metrics"), metrics(1000));
  server.pages.insert_or_assign(page_path("node-1", "metrics"), std::string("<html>"));
  server.after = {page_path("node-0", "metrics"), metrics(1'000'000'000)};
  const ClusterFacts facts = gather(server.open(), {.traffic = std::chrono::milliseconds(1)});
  CHECK(facts.pages.size() == 3);
  REQUIRE(facts.traffic.size() == 1);
  CHECK(facts.traffic[0].node == "node-0");
  CHECK(facts.traffic[0].rates.at(0)[Count::net_rx_bytes] > 0);
  REQUIRE(facts.gaps.size() == 3);
  CHECK(facts.gaps[0].why.find("metrics.podCounters=true") != std::string::npos);
  CHECK(facts.gaps[1].why == "its traffic: not a page of vfrail's metrics");
  CHECK(facts.gaps[2].why.find("its traffic: no answer: ") == 0);
}

TEST_CASE("a vfrail that does not run is not asked") {
  MadeServer server;
  server.lists.insert_or_assign("nodes", std::vector<Json>{node_object("node-0", 1, 1)});
  server.lists.insert_or_assign("pods", std::vector<Json>{vfrail_pod("node-0", "Pending")});
  const ClusterFacts facts = gather(server.open(), {});
  REQUIRE(facts.gaps.size() == 1);
  CHECK(facts.gaps[0].why == "its vfrail, pod kube-system/vfrail-node-0, is Pending");
  CHECK_FALSE(server.asked.contains(page_path("node-0", "inspect")));
}

TEST_CASE("a list that the user may not read is named, and the rest is shown") {
  MadeServer server;
  add_nodes(server, 1);
  server.lists.insert_or_assign("network-attachment-definitions", Error{Errc::denied, 403, "forbidden"});
  const ViewAnswer answer = show_nodes(server.open(), {.output = ViewOptions::Output::wide});
  CHECK(answer.code == 0);
  CHECK(answer.text.find("\nnode-0  Ready  nvidia.com/hostdev") != std::string::npos);
  CHECK(answer.text.find(
            "not in this view: network-attachment-definitions: no right to list them: forbidden") !=
        std::string::npos);
}

TEST_CASE("without a right to nodes and pods the command has failed") {
  MadeServer server;
  for (const char* plural : {"nodes", "pods", "network-attachment-definitions"})
    server.lists.insert_or_assign(plural, Error{Errc::denied, 403, "forbidden"});
  for (const auto& show : {show_nodes, show_devices, show_pods, show_networks}) {
    const ViewAnswer answer = show(server.open(), {});
    CHECK(answer.code == 1);
    CHECK(answer.text.starts_with("not in this view: "));  // and not "no node offers ..."
  }
}

TEST_CASE("a cluster without Multus has no networks, which is no gap") {
  MadeServer server;
  add_nodes(server, 1);
  const ClusterFacts facts = gather(server.open(), {});
  CHECK(facts.networks.empty());
  CHECK(facts.gaps.empty());
}

TEST_CASE("whereabouts' pools are listed only where a network uses them, and their absence is said") {
  MadeServer server;
  add_nodes(server, 1);
  server.lists.insert_or_assign(
      "network-attachment-definitions",
      std::vector<Json>{network_object("a", R"({"type": "x", "ipam": {"type": "host-local"}})")});
  CHECK(gather(server.open(), {}).knows_address_pools);
  CHECK_FALSE(server.asked.contains("ippools "));
  server.lists.insert_or_assign(
      "network-attachment-definitions",
      std::vector<Json>{
          network_object("a", R"({"type": "x", "ipam": {"type": "whereabouts", "range": "10.0.0.0/24"}})")});
  CHECK_FALSE(gather(server.open(), {}).knows_address_pools);
  server.lists.insert_or_assign("ippools",
                                std::vector<Json>{json_of(R"({"metadata": {"name": "10.0.0.0-24"}, "spec":
      {"range": "10.0.0.0/24", "allocations": {"1": {}}}})")});
  const ViewAnswer answer = show_networks(server.open(), {.output = ViewOptions::Output::json});
  const Json network = list_at(json_of(answer.text), {"networks"}).at(0);
  CHECK(*network.find("addresses_left")->as_int() == 253);
}

TEST_CASE("a list that begins again has each object once") {
  MadeServer server;
  add_nodes(server, 3);
  server.restarts = true;
  const ClusterFacts facts = gather(server.open(), {});
  CHECK(facts.nodes.size() == 3);
  CHECK(facts.pods.size() == 3);
}

TEST_CASE("with --node one node alone is asked") {
  MadeServer server;
  add_nodes(server, 3);
  const ViewAnswer answer =
      show_nodes(server.open(), {.output = ViewOptions::Output::yaml, .filter = {.node = "node-1"}});
  CHECK(answer.text.find("name: node-1") != std::string::npos);
  CHECK(answer.text.find("node-2") == std::string::npos);
  CHECK(server.asked.contains(page_path("node-1", "inspect")));
  CHECK_FALSE(server.asked.contains(page_path("node-2", "inspect")));
}

TEST_CASE("doctor asks for the other page, and a fault on a node is the exit code") {
  MadeServer server;
  add_nodes(server, 2);
  const std::string good = R"({"checks": [{"id": "VF-N04", "name": "mode", "finding": "ok", "text": "x"}]})";
  for (const char* node : {"node-0", "node-1"})
    server.pages.insert_or_assign(page_path(node, "doctor"), good);
  CHECK(show_findings(server.open(), {}).text == "nothing found\n2 nodes checked\n");
  CHECK(show_findings(server.open(), {}).code == 0);
  server.pages.insert_or_assign(
      page_path("node-1", "doctor"),
      std::string(R"({"checks": [{"id": "VF-P01", "name": "port", "finding": "fault", "text": "down"}]})"));
  CHECK(show_findings(server.open(), {}).code == 1);
}

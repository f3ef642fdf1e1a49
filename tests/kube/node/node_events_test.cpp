// Notices of `vfrail serve` as Events of the Node: both ends real, upon an API server of ours.
#include "plugin/kube/node/node_events.h"

#include "plugin/publish/notice_link.h"
#include "tests/kube/controller/fake_cluster.h"
#include "tests/kube/node/running_node.h"

#include <mutex>

using namespace vfrail;
using namespace vfrail::kube;
using namespace vfrail::test;
using Catch::Contains;
using plugin::NodeStatus;

namespace {

constexpr auto kOn = RunningNode::Posting::on;

// What a daemon publishes.
struct Daemon {
  std::shared_ptr<const NodeStatus> get() const {
    const std::lock_guard lock(mutex);
    return std::make_shared<const NodeStatus>(status);
  }
  void set(const NodeStatus& now) {
    const std::lock_guard lock(mutex);
    status = now;
  }
  mutable std::mutex mutex;
  NodeStatus status;
};

std::string note(const std::string& text) {
  return R"({"notices":[{"reason":"DeviceOrphaned","about":"","text":")" + text + R"("}]})";
}

}  // namespace

TEST_CASE("what an administrator must see is an Event of the Node") {
  FakeCluster cluster;
  const RunningNode node(cluster.access(), kForEver, kOn);
  Daemon daemon;
  Log log;
  const plugin::NoticeLink link(
      {.socket = node.socket(), .interval = std::chrono::milliseconds(20)},
      [&daemon] { return daemon.get(); }, log);
  NodeStatus status;
  status.orphans = {"0000:18:00.3"};
  daemon.set(status);
  REQUIRE(comes_true([&] { return cluster.count("events") == 1; }));
  const Json event = cluster.all("events").at(0);
  CHECK(text_at(event, {"metadata", "namespace"}) == "default");
  CHECK(text_at(event, {"metadata", "name"}).find("node-1.") == 0);
  CHECK(text_at(event, {"reason"}) == "DeviceOrphaned");
  CHECK(text_at(event, {"type"}) == "Warning");
  CHECK(text_at(event, {"reportingController"}) == "vfrail.io/node");
  CHECK(text_at(event, {"regarding", "kind"}) == "Node");
  CHECK(text_at(event, {"regarding", "uid"}) == "node-1");  // as kubelet's own
  CHECK_THAT(text_at(event, {"note"}), Contains("1 device (0000:18:00.3) still attached"));
  // It posts Events and asks for nothing else.
  CHECK(cluster.writes() == std::vector<std::string>{"POST events"});
}

TEST_CASE("a vfrail-kube that posts no Events says so, and notices that are none are refused") {
  FakeCluster cluster;
  const RunningNode silent(cluster.access());
  SocketAnswer answer = ask(silent.socket(), "PUT", "/notices", note("x"));
  CHECK(answer.status == 400);
  CHECK_THAT(answer.reason(), Contains("--events"));
  const RunningNode node(cluster.access(), kForEver, kOn);
  answer = ask(node.socket(), "PUT", "/notices", R"({"notices":[{"reason":"not one word","text":"x"}]})");
  CHECK(answer.status == 400);
  CHECK_THAT(answer.reason(), Contains("one word"));
  CHECK(cluster.count("events") == 0);
}

TEST_CASE("an Event that the API server refuses is a line of the log, and costs nothing else") {
  FakeCluster cluster;
  cluster.refuse_writes("events", 403);
  const RunningNode node(cluster.access(), kForEver, kOn);
  CHECK(ask(node.socket(), "PUT", "/notices", note("x")).status == 200);
  CHECK(comes_true([&] { return node.logged("an event could not be written") == 1; }));
  CHECK(ask(node.socket(), "PUT", "/notices", note("x")).status == 200);
}

// What `vfrail serve` asks of `vfrail-kube node`, with both of them real.
#include "plugin/dra/agent_client.h"

#include "plugin/dra/offer_link.h"
#include "tests/kube/controller/fake_cluster.h"
#include "tests/kube/node/running_node.h"

#include <atomic>

using namespace vfrail;
using namespace vfrail::test;
using plugin::AgentClient;
using plugin::OfferLink;

namespace {

const ClaimName kNic{"default", "nic", "c-1"};

void add_claim(kube::FakeCluster& cluster) {
  cluster.put("resourceclaims",
              parsed(R"({"metadata":{"namespace":"default","name":"nic","uid":"c-1"},"status":{}})"));
}

plugin::OfferedDevice device(const std::string& name) {
  plugin::OfferedDevice out{name, "nvidia.com/hostdev", name, Json::object()};
  out.device.set("name", name);
  out.device.set("attributes", Json::object());
  return out;
}

}  // namespace

TEST_CASE("serve reads a claim, and one that is gone is no error") {
  kube::FakeCluster cluster;
  add_claim(cluster);
  const RunningNode node(cluster.access());
  cluster.page("/apis/resource.k8s.io/v1", "{}");
  AgentClient client(node.socket());
  const auto claim = client.claim(kNic);
  REQUIRE(claim);
  REQUIRE(*claim);
  CHECK(kube::uid_of(**claim) == "c-1");
  const auto gone = client.claim({"default", "other", "c-9"});
  REQUIRE(gone);
  CHECK_FALSE(*gone);
  // Its status is not tried again.
  const auto written = client.set_status({"default", "other", "c-9"}, Json::array());
  REQUIRE_FALSE(written);
  CHECK(written.error().code == Errc::not_found);
}

TEST_CASE("serve without vfrail-kube says where it was expected") {
  AgentClient client("/nowhere/node.sock");
  const auto claim = client.claim(kNic);
  REQUIRE_FALSE(claim);
  CHECK(claim.error().code == Errc::not_yet);
  CHECK(claim.error().text.find("/nowhere/node.sock") != std::string::npos);
  CHECK(claim.error().text.find("container \"kube\"") != std::string::npos);
}

TEST_CASE("a name that is none of Kubernetes is refused before it is in a request") {
  AgentClient client("/nowhere/node.sock");
  for (const ClaimName& name : {ClaimName{"default", "a b", "c"}, ClaimName{"default", "nic", ""},
                                ClaimName{"default", "nic", "c HTTP/1.1\r\nx: y"}}) {
    const auto claim = client.claim(name);
    REQUIRE_FALSE(claim);
    CHECK(claim.error().code == Errc::invalid);
  }
}

TEST_CASE("an offer is published, and again when vfrail-kube has started anew") {
  kube::FakeCluster cluster;
  cluster.put("nodes", parsed(R"({"metadata":{"name":"node-1","uid":"n-1"},"status":{"allocatable":{}}})"));
  Log log;
  auto node = std::make_unique<RunningNode>(cluster.access());
  std::atomic<int> changes{0};
  OfferLink link({.socket = node->socket(), .repeat = std::chrono::milliseconds(200)}, log);
  link.start([&] { ++changes; });
  CHECK_FALSE(link.state().published);
  link.put({"nvidia.com/hostdev"}, {device("0000-3b-02-1")});
  CHECK(comes_true([&] { return link.state().published; }));
  CHECK(link.state().node == "node-1");
  link.put({"nvidia.com/hostdev"}, {device("0000-3b-02-1"), device("0000-3b-02-2")});
  CHECK(comes_true([&] {
    const auto slices = cluster.all("resourceslices");
    return slices.size() == 1 && kube::list_at(slices.front(), {"spec", "devices"}).size() == 2;
  }));
  CHECK(comes_true([&] { return link.state().writes == 2; }));
  CHECK(link.state().slices == 1);
  CHECK(changes >= 2);
  node.reset();
  CHECK(comes_true([&] { return !link.state().published && !link.state().reason.empty(); }));
  CHECK(link.state().id.starts_with("VF-"));
  CHECK(link.state().node == "node-1");
}

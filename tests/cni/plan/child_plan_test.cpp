// cni/plan/child_plan.h: every refusal about an interface upon one of the host, and what is planned
// otherwise.
#include "cni/plan/child_plan.h"

#include "common/errors/error_id.h"

#include <catch2/catch.hpp>

using namespace vfrail::cni;

namespace vfrail {
namespace {

using Catch::Contains;

struct Situation {
  Request request;
  NetConf conf;
  State state;

  Situation() {
    request.container_id = "abc";
    request.ifname = "net1";
    request.netns = "/run/netns/x";
    conf.entry.network = "shared";
    conf.child = ChildConf{};
    state.device.id = *DeviceId::parse("0000:03:00.0");
    state.device.rdma = {{.name = "mlx5_0"}};
    state.rdma_mode = RdmaNetnsMode::shared;
    Link link;
    link.index = 5;
    link.name = "ens1f0";
    link.type = 1;
    link.mtu = 9000;
    state.link = link;
  }
  ChildPlan plan() const {
    auto out = plan_child(request, conf, state);
    if (!out) FAIL(out.error().text);
    return std::move(*out);
  }
  Error refusal() const {
    auto out = plan_child(request, conf, state);
    REQUIRE_FALSE(out);
    return std::move(out.error());
  }
};

}  // namespace

TEST_CASE("A macvlan in bridge mode is planned upon the master, and its record names both") {
  Situation s;
  s.conf.link.mtu = 1400;
  s.conf.link.mac.network = *MacAddress::parse("02:00:00:00:00:09");
  const ChildPlan plan = s.plan();
  CHECK(plan.link.kind == "macvlan");
  CHECK(plan.link.mode == 4);
  CHECK(plan.link.lower == 5);
  CHECK(plan.link.mtu == 1400);
  CHECK(plan.uses_rdma);
  const Record record = make_child_record(s.request, "shared", s.state, plan);
  CHECK(record.device_key == "child.abc.net1");
  CHECK_FALSE(record.device);
  CHECK(record.child->master == "ens1f0");
  CHECK(record.child->device->text() == "0000:03:00.0");
  CHECK(record.pod_mac == *MacAddress::parse("02:00:00:00:00:09"));
}

TEST_CASE("An IPoIB interface needs InfiniBand, the others Ethernet") {
  Situation s;
  s.conf.child = ChildConf{.kind = ChildKind::ipoib, .pkey = 0x8002};
  CHECK(s.refusal().id() == ErrorId::master_unusable);
  s.state.link->type = 32;
  CHECK(s.plan().link.pkey == 0x8002);
  s.conf.child = ChildConf{.kind = ChildKind::ipvlan};
  CHECK_THAT(s.refusal().text, Contains("ens1f0 is not"));
  s.state.link.reset();
  CHECK_THAT(s.refusal().text, Contains("0000:03:00.0 has no interface in the host"));
}

TEST_CASE(
    "In the exclusive mode the pod does not see the RDMA device: a warning, or with require a refusal") {
  Situation s;
  s.state.rdma_mode = RdmaNetnsMode::exclusive;
  CHECK_FALSE(s.plan().uses_rdma);
  CHECK_THAT(s.plan().warning, Contains("mlx5_0 of ens1f0 stays in the host"));
  s.conf.rdma.policy = RdmaPolicy::require;
  CHECK(s.refusal().id() == ErrorId::rdma_exclusive_mode);
  s.state.device.rdma.clear();
  CHECK(s.refusal().id() == ErrorId::no_rdma_device);
  s.conf.rdma.policy = RdmaPolicy::off;
  CHECK(s.plan().warning.empty());
}

TEST_CASE("An address of the pod's choice is refused where the kind has the master's") {
  Situation s;
  s.conf.child->kind = ChildKind::ipvlan;
  s.request.args["MAC"] = "02:00:00:00:00:09";
  CHECK(s.plan().in_vain.size() == 1);
  CHECK_FALSE(s.plan().link.mac);
  s.conf.link.mac.runtime = *MacAddress::parse("02:00:00:00:00:09");
  CHECK(s.refusal().id() == ErrorId::mac_invalid);
}

TEST_CASE("The host's own namespace and a name that the pod has are refused") {
  Situation s;
  s.state.same_netns = true;
  CHECK(s.refusal().id() == ErrorId::host_netns);
  s.state.same_netns = false;
  s.state.occupant = Link{};
  CHECK(s.refusal().id() == ErrorId::interface_name_taken);
}

}  // namespace vfrail

#include "plugin/service/kubelet/pod_resources.h"

#include "plugin/service/kubelet/pod_devices.h"
#include "tests/kubelet/test_kubelet.h"
#include "tests/service/support.h"
#include "tests/support/deadline.h"

#include <atomic>

#include <catch2/catch.hpp>

namespace vfrail::test {
using namespace plugin;

using std::chrono::milliseconds;

namespace {

constexpr const char* kHostdev = "nvidia.com/hostdev";

PodResourcesCall::Request request_to(const TempDir& folder, milliseconds timeout = kDeadline) {
  return {.socket = pod_resources_socket(folder.path()), .resources = {}, .timeout = timeout};
}

}  // namespace

TEST_CASE("kubelet reports which container has which device") {
  const TempDir folder;
  PodResourcesServer kubelet(folder.path());
  DevicesInUse reported;
  reported.resources[kHostdev]["0000:03:02.1"] = {"ml", "train-0", "main"};
  reported.resources[kHostdev]["0000:03:02.2"] = {"ml", "train-0", "side"};
  reported.resources["nvidia.com/gpu"]["GPU-1"] = {"ml", "train-0", "main"};
  kubelet.set(reported);
  auto request = request_to(folder);
  const auto all = list_pod_resources(request);
  REQUIRE(all);
  CHECK(all->resources == reported.resources);
  CHECK(all->taken.time_since_epoch().count() > 0);
  request.resources = {kHostdev, "nvidia.com/other"};
  const auto ours = list_pod_resources(request);
  REQUIRE(ours);
  CHECK(ours->count(kHostdev) == 2);
  CHECK(ours->count("nvidia.com/gpu") == 0);
  CHECK(ours->find(kHostdev, "0000:03:02.2")->container == "side");
  CHECK(ours->find(kHostdev, "0000:03:02.3") == nullptr);
  CHECK(ours->find("nvidia.com/other", "0000:03:02.1") == nullptr);
}

TEST_CASE("ids without end of other plugins hide none of ours, and too many of ours are an error") {
  v1::ListPodResourcesResponse answer;
  v1::PodResources& pod = *answer.add_pod_resources();
  pod.set_name("train-0");
  const auto add = [&](const std::string& resource, int count, const std::string& prefix) {
    v1::ContainerDevices& devices = *pod.add_containers()->add_devices();
    devices.set_resource_name(resource);
    for (int i = 0; i < count; ++i) devices.add_device_ids(prefix + std::to_string(i));
  };
  add("aliyun.com/gpu-mem", 81'920, "GPU-1-_-");
  add(kHostdev, 1, "0000:03:02.");
  const auto read = read_devices_in_use(answer, {});
  REQUIRE(read);
  CHECK(read->find(kHostdev, "0000:03:02.0") != nullptr);
  add("rdma/hca", 65'536, "");
  CHECK_FALSE(read_devices_in_use(answer, {}));
  CHECK(read_devices_in_use(answer, {"rdma/hca"}));
  CHECK_FALSE(read_devices_in_use(answer, {"aliyun.com/gpu-mem"}));
}

TEST_CASE("devices of claims are in use, by whichever names their drivers give them") {
  v1::ListPodResourcesResponse answer;
  v1::PodResources& pod = *answer.add_pod_resources();
  pod.set_namespace_("ml");
  pod.set_name("train-0");
  v1::ContainerResources& container = *pod.add_containers();
  container.set_name("main");
  v1::DynamicResource& claim = *container.add_dynamic_resources();
  claim.set_claim_namespace("ml");
  claim.set_claim_name("nics");
  const auto add = [&](const std::string& device, const std::string& cdi) {
    v1::ClaimResource& resource = *claim.add_claim_resources();
    resource.set_device_name(device);
    if (!cdi.empty()) resource.add_cdi_devices()->set_name(cdi);
  };
  add("0000-03-02-1", "");
  add("pci-0000-03-02-2", "");
  add("", "vendor.example/vf=8f1e-0000-03-02-3");
  add("", "vendor.example/vf=0000:03:02.4");
  add("gpu-0", "nvidia.com/gpu=GPU-1");
  add("0000-03-02-x", "short");
  const auto read = read_devices_in_use(answer, {});
  REQUIRE(read);
  REQUIRE(read->count("claim ml/nics") == 4);
  for (const char* id : {"0000:03:02.1", "0000:03:02.2", "0000:03:02.3", "0000:03:02.4"})
    CHECK(read->find("claim ml/nics", id)->pod == "train-0");
  CHECK(read_devices_in_use(answer, {kHostdev})->resources.empty());
}

TEST_CASE("a kubelet that is not there, refuses, or hangs is an error with a text") {
  const TempDir folder;
  const auto none = list_pod_resources(request_to(folder));
  REQUIRE_FALSE(none);
  CHECK(none.error().code == Errc::peer);
  PodResourcesServer kubelet(folder.path());
  kubelet.refuse({grpc::StatusCode::RESOURCE_EXHAUSTED, "rejected by rate limit"});
  const auto refused = list_pod_resources(request_to(folder));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().text == "kubelet's pod-resources List: rejected by rate limit");
  kubelet.refuse(grpc::Status::OK);
  kubelet.hang(true);
  const auto late = list_pod_resources(request_to(folder, milliseconds{50}));
  REQUIRE_FALSE(late);
  CHECK(late.error().code == Errc::timeout);
  kubelet.hang(false);
  CHECK(list_pod_resources(request_to(folder)));
}

TEST_CASE("an answer larger than the limit is refused") {
  const TempDir folder;
  PodResourcesServer kubelet(folder.path());
  DevicesInUse reported;
  for (int i = 0; i < 300; ++i) {
    reported.resources[kHostdev][std::to_string(i)] = {"ml", std::string(64 << 10, 'p') + std::to_string(i),
                                                       "c"};
  }
  kubelet.set(reported);
  const auto answer = list_pod_resources(request_to(folder));
  REQUIRE_FALSE(answer);
  CHECK(answer.error().code == Errc::peer);
}

TEST_CASE("a cancelled call ends at once, and its callback has run") {
  const TempDir folder;
  PodResourcesServer kubelet(folder.path());
  kubelet.hang(true);
  std::atomic<int> ran{0};
  {
    const PodResourcesCall call(request_to(folder, milliseconds{60'000}),
                                [&](const Result<DevicesInUse>& answer) {
                                  CHECK_FALSE(answer);
                                  ++ran;
                                });
    CHECK(eventually([&] { return kubelet.calls() == 1; }));
  }
  CHECK(ran == 1);
}

TEST_CASE("a call that is overdue by the steady clock is cancelled, wherever the time of day stands") {
  using std::chrono::steady_clock;
  const TempDir folder;
  PodResourcesServer kubelet(folder.path());
  kubelet.hang(true);
  std::atomic<bool> late{false};
  const steady_clock::time_point begin = steady_clock::now();
  // As far away as gRPC's own deadline is when the time of day is set back by an hour.
  PodResourcesCall call(request_to(folder, std::chrono::hours{1}), [&](const Result<DevicesInUse>& answer) {
    late = !answer && answer.error().code == Errc::timeout;
  });
  CHECK(eventually([&] { return kubelet.calls() == 1; }));
  const auto due = call.cancel_overdue(begin + std::chrono::minutes{59});
  REQUIRE(due);
  CHECK(*due > begin + std::chrono::hours{1});
  CHECK_FALSE(late);
  CHECK_FALSE(call.cancel_overdue(*due));
  CHECK(eventually([&] { return late.load(); }));
}

TEST_CASE("the test kubelet reports the pods of what it has allocated") {
  const TempDir folder;
  TestKubelet kubelet(folder.path());
  kubelet.give(kHostdev, {"0000:03:02.1"}, {"ml", "train-0", "main"});
  auto reported = list_pod_resources(request_to(folder));
  REQUIRE(reported);
  CHECK(reported->find(kHostdev, "0000:03:02.1")->pod == "train-0");
  kubelet.free({"0000:03:02.1"});
  reported = list_pod_resources(request_to(folder));
  REQUIRE(reported);
  CHECK(reported->count(kHostdev) == 0);
}

}  // namespace vfrail::test

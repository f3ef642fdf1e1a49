#include "plugin/service/kubelet/service.h"

#include "plugin/service/kubelet/endpoint.h"
#include "tests/kubelet/plugin_client.h"
#include "tests/service/support.h"
#include "tests/support/deadline.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>

#include <catch2/catch.hpp>

namespace vfrail::test {
using namespace plugin;

namespace fs = std::filesystem;
using std::chrono::milliseconds;

namespace {

// A service on its socket, and what it reported about registration.
struct Served {
  explicit Served(Pool pool, milliseconds return_patience = {})
      : service(std::move(pool),
                {.endpoint = node.path("s.sock"),
                 .places = node.places(),
                 .return_patience = return_patience,
                 .on_registration =
                     [this](RegistrationResult result) {
                       const std::lock_guard lock(mutex);
                       results.push_back(std::move(result));
                     }},
                log),
        endpoint(service) {
    REQUIRE(log.open_file("/dev/null"));
    const auto opened = endpoint.open();
    INFO((opened ? "" : opened.error().text));
    REQUIRE(opened);
  }

  std::unique_ptr<PluginClient> connect() const {
    auto client = PluginClient::connect(node.path("s.sock"), kDeadline);
    REQUIRE(client);
    return *std::move(client);
  }

  IgbNode node;
  Log log;
  std::mutex mutex;
  std::vector<RegistrationResult> results;
  Service service;
  Endpoint endpoint;
};

// What a stream received.
struct MonitoringServer {
  explicit MonitoringServer(PluginClient& client) {
    client.watch(
        [this](const v1beta1::ListAndWatchResponse& list) {
          const std::lock_guard lock(mutex);
          lists.push_back(list);
        },
        [this](const grpc::Status& status) {
          const std::lock_guard lock(mutex);
          end = status.error_code();
          ended = true;
        });
  }
  size_t count() {
    const std::lock_guard lock(mutex);
    return lists.size();
  }
  bool has_ended() {
    const std::lock_guard lock(mutex);
    return ended;
  }
  std::vector<std::string> last_ids() {
    const std::lock_guard lock(mutex);
    std::vector<std::string> out;
    for (const auto& device : lists.back().devices()) out.push_back(device.id());
    return out;
  }

  std::mutex mutex;
  std::vector<v1beta1::ListAndWatchResponse> lists;
  grpc::StatusCode end = grpc::StatusCode::OK;
  bool ended = false;
};

v1beta1::AllocateRequest request_for(const std::vector<std::vector<std::string>>& containers) {
  v1beta1::AllocateRequest out;
  for (const auto& ids : containers) {
    auto& container = *out.add_container_requests();
    for (const std::string& id : ids) container.add_devices_ids(id);
  }
  return out;
}

}  // namespace

TEST_CASE("GetInfo has the resource and the socket, and the registration status is passed on") {
  Served served(make_pool({"0000:03:02.1"}));
  const auto client = served.connect();
  const auto info = client->info();
  REQUIRE(info);
  CHECK(info->type() == "DevicePlugin");
  CHECK(info->name() == "nvidia.com/hostdev");
  CHECK(info->endpoint() == served.node.path("s.sock"));
  CHECK(std::vector<std::string>(info->supported_versions().begin(), info->supported_versions().end()) ==
        std::vector<std::string>{"v1alpha1", "v1beta1"});
  REQUIRE(client->notify("no room"));
  REQUIRE(client->notify(""));
  const std::lock_guard lock(served.mutex);
  REQUIRE(served.results.size() == 2);
  CHECK_FALSE(served.results[0].registered);
  CHECK(served.results[0].reason == "no room");
  CHECK(served.results[1].registered);
}

TEST_CASE("optional calls are not advertised, and calling them does no harm") {
  Served served(make_pool({"0000:03:02.1"}));
  const auto client = served.connect();
  const auto options = client->options();
  REQUIRE(options);
  CHECK_FALSE(options->pre_start_required());
  CHECK_FALSE(options->get_preferred_allocation_available());
  v1beta1::PreferredAllocationRequest request;
  request.add_container_requests()->set_allocation_size(1);
  v1beta1::PreferredAllocationResponse response;
  CHECK(client->preferred(request, response).ok());
  REQUIRE(response.container_responses_size() == 1);
  CHECK(response.container_responses(0).deviceids_size() == 0);
  CHECK(client->pre_start({}).ok());
}

TEST_CASE("a resource with a preference advertises it, and prefers devices of the last published pool") {
  Pool pool = make_pool({"0000:03:02.1", "0000:03:02.2", "0000:41:00.1"});
  pool.config.preference = Preference::rail;
  Served served(pool);
  const auto client = served.connect();
  const auto options = client->options();
  REQUIRE(options);
  CHECK(options->get_preferred_allocation_available());
  CHECK_FALSE(options->pre_start_required());

  const auto ask = [&](const std::vector<std::string>& available, const std::vector<std::string>& must,
                       int32_t size) {
    v1beta1::PreferredAllocationRequest request;
    for (int i = 0; i < 2; ++i) {  // two containers, each by itself
      auto& container = *request.add_container_requests();
      container.mutable_available_deviceids()->Add(available.begin(), available.end());
      container.mutable_must_include_deviceids()->Add(must.begin(), must.end());
      container.set_allocation_size(size);
    }
    v1beta1::PreferredAllocationResponse response;
    CHECK(client->preferred(request, response).ok());
    REQUIRE(response.container_responses_size() == 2);
    const auto& first = response.container_responses(0).deviceids();
    const auto& second = response.container_responses(1).deviceids();
    CHECK(std::equal(first.begin(), first.end(), second.begin(), second.end()));
    return std::vector<std::string>(first.begin(), first.end());
  };
  const std::vector<std::string> all{"0000:41:00.1", "0000:03:02.2", "0000:03:02.1"};
  CHECK(ask(all, {}, 2) == std::vector<std::string>{"0000:03:02.1", "0000:03:02.2"});
  CHECK(ask(all, {"0000:41:00.1"}, 2) == std::vector<std::string>{"0000:03:02.1", "0000:41:00.1"});
  CHECK(ask(all, {}, 4).empty());
  CHECK(ask(all, {}, -1).empty());
  CHECK(ask({}, {}, 1).empty());
  CHECK(ask({"nonsense", "0000:03:02.1"}, {}, 2) == std::vector<std::string>{"0000:03:02.1", "nonsense"});

  // All functions of one PF now: the rails are others.
  for (PoolDevice& device : pool.devices) device.facts.pf = PciAddress{0, 3, 0, 0};
  pool.devices[1].facts.pf.reset();
  served.service.publish(pool);
  CHECK(ask(all, {}, 2) == std::vector<std::string>{"0000:03:02.1", "0000:03:02.2"});
  CHECK(ask({"0000:03:02.1", "0000:41:00.1", "0000:03:02.2"}, {"0000:41:00.1"}, 2) ==
        std::vector<std::string>{"0000:41:00.1", "0000:03:02.2"});
}

TEST_CASE("a stream gets the whole list at once, in order, healthy, with NUMA nodes") {
  Pool pool = make_pool({"0000:03:02.1", "0000:03:02.2", "0000:41:00.1"});
  pool.devices[0].facts.numa_node = 0;
  pool.devices[2].facts.numa_node = 1;
  Served served(pool);
  const auto client = served.connect();
  MonitoringServer monitoring(*client);
  REQUIRE(eventually([&] { return monitoring.count() == 1; }));
  CHECK(monitoring.last_ids() == std::vector<std::string>{"0000:03:02.1", "0000:03:02.2", "0000:41:00.1"});
  const auto& devices = monitoring.lists[0].devices();
  for (const auto& device : devices) CHECK(device.health() == "Healthy");
  REQUIRE(devices[0].topology().nodes_size() == 1);
  CHECK(devices[0].topology().nodes(0).id() == 0);
  CHECK_FALSE(devices[1].has_topology());
  CHECK(devices[2].topology().nodes(0).id() == 1);
  client->drop();
}

TEST_CASE("excludeTopology withholds NUMA nodes from kubelet") {
  Pool pool = make_pool({"0000:03:02.1"});
  pool.devices[0].facts.numa_node = 0;
  pool.config.exclude_topology = true;
  CHECK_FALSE(list_response(pool).devices(0).has_topology());
}

TEST_CASE("every stream gets a change, and nothing else") {
  Served served(make_pool({"0000:03:02.1"}));
  const auto first = served.connect();
  const auto second = served.connect();
  MonitoringServer a(*first);
  MonitoringServer b(*second);
  REQUIRE(eventually([&] { return a.count() == 1 && b.count() == 1; }));
  CHECK_FALSE(served.service.publish(make_pool({"0000:03:02.1"})));
  CHECK(served.service.publish(make_pool({"0000:03:02.1", "0000:03:02.2"})));
  REQUIRE(eventually([&] { return a.count() == 2 && b.count() == 2; }));
  CHECK(a.last_ids() == std::vector<std::string>{"0000:03:02.1", "0000:03:02.2"});
  CHECK(served.service.publish(make_pool({})));
  REQUIRE(eventually([&] { return a.count() == 3 && b.count() == 3; }));
  CHECK(a.last_ids().empty());
  first->drop();
  second->drop();
}

TEST_CASE("many changes in a row end with the last list") {
  Served served(make_pool({"0000:03:02.1"}));
  const auto client = served.connect();
  MonitoringServer monitoring(*client);
  REQUIRE(eventually([&] { return monitoring.count() >= 1; }));
  for (int i = 0; i < 200; ++i) {
    served.service.publish(i % 2 == 0 ? make_pool({}) : make_pool({"0000:03:02.1"}));
  }
  served.service.publish(make_pool({"0000:03:02.7"}));
  CHECK(eventually([&] { return monitoring.last_ids() == std::vector<std::string>{"0000:03:02.7"}; }));
  client->drop();
}

TEST_CASE("a stream that the client drops is cleaned up") {
  Served served(make_pool({"0000:03:02.1"}));
  for (int round = 0; round < 20; ++round) {
    const auto client = served.connect();
    MonitoringServer monitoring(*client);
    REQUIRE(eventually([&] { return monitoring.count() == 1 && served.service.streams() == 1; }));
    if (round % 2 == 0) served.service.publish(make_pool({}));  // a write may be under way
    client->drop();
    CHECK(eventually([&] { return served.service.streams() == 0; }));
    served.service.publish(make_pool({"0000:03:02.1"}));
  }
}

TEST_CASE("closing the endpoint ends the streams and cleans up") {
  Served served(make_pool({"0000:03:02.1"}));
  const auto client = served.connect();
  MonitoringServer monitoring(*client);
  REQUIRE(eventually([&] { return monitoring.count() == 1; }));
  served.endpoint.close(milliseconds{500});
  CHECK(served.service.streams() == 0);
  CHECK(eventually([&] { return monitoring.has_ended(); }));
  CHECK(monitoring.end == grpc::StatusCode::UNAVAILABLE);
  CHECK_FALSE(fs::exists(served.node.path("s.sock")));
  REQUIRE(served.endpoint.open());
  CHECK(served.connect()->options());
}

TEST_CASE("Allocate answers each container with its environment and device nodes") {
  Served served(make_pool({}));
  served.service.publish(served.node.pool());
  const auto client = served.connect();
  v1beta1::AllocateResponse response;
  REQUIRE(client->allocate(request_for({{"0000:21:10.0"}, {"0000:41:10.6"}}), response).ok());
  REQUIRE(response.container_responses_size() == 2);
  const auto& first = response.container_responses(0);
  CHECK(first.envs().at("PCIDEVICE_NVIDIA_COM_HOSTDEV") == "0000:21:10.0");
  CHECK(first.envs().at("PCIDEVICE_NVIDIA_COM_HOSTDEV_INFO").find("\"rdma_dev\":\"mlx5_0\"") !=
        std::string::npos);
  REQUIRE(first.devices_size() == 3);
  for (const auto& device : first.devices()) {
    CHECK(device.host_path() == device.container_path());
    CHECK(device.permissions() == "rw");
  }
  CHECK(first.devices(1).host_path() == "/dev/infiniband/uverbs0");
  CHECK(first.devices(2).host_path() == "/dev/infiniband/rdma_cm");
  CHECK(response.container_responses(1).envs().at("PCIDEVICE_NVIDIA_COM_HOSTDEV") == "0000:41:10.6");
  CHECK(served.node.written().size() == 4);
}

TEST_CASE("a request that cannot be satisfied is refused with its code, and nothing is written") {
  Served served(make_pool({}));
  served.service.publish(served.node.pool());
  served.node.remove_device("0000:41:10.6");
  fs::remove_all(served.node.root() + "/sys/bus/pci/devices/0000:41:10.4/infiniband");
  const auto client = served.connect();
  const auto refused = [&](const std::vector<std::vector<std::string>>& containers) {
    v1beta1::AllocateResponse response;
    const auto status = client->allocate(request_for(containers), response);
    CHECK_FALSE(status.error_message().empty());
    CHECK(served.node.written().empty());
    return status.error_code();
  };
  CHECK(refused({{"0000:21:10.0"}, {"0000:99:00.0"}}) == grpc::StatusCode::NOT_FOUND);
  CHECK(refused({{"0000:21:10.0", "0000:21:10.0"}}) == grpc::StatusCode::INVALID_ARGUMENT);
  CHECK(refused({{}}) == grpc::StatusCode::INVALID_ARGUMENT);
  CHECK(refused({{"0000:41:10.6"}}) == grpc::StatusCode::NOT_FOUND);
  CHECK(refused({{"0000:41:10.4"}}) == grpc::StatusCode::UNAVAILABLE);
}

// A pod that is deleted by force is gone for kubelet at once, and its device on the way to the host.
TEST_CASE("Allocate waits for a device to return from the pod before") {
  Served served(make_pool({}), kDeadline);
  REQUIRE(served.log.open_file(served.node.path("log")));
  served.service.publish(served.node.pool());
  const std::string rdma = served.node.root() + "/sys/bus/pci/devices/0000:21:10.0/infiniband";
  fs::rename(rdma, served.node.path("in-a-pod"));
  const auto client = served.connect();
  v1beta1::AllocateResponse response;
  grpc::Status status;
  std::atomic<bool> answered = false;
  std::thread kubelet([&] {
    status = client->allocate(request_for({{"0000:21:10.0"}}), response);
    answered = true;
  });
  const auto waits = [&] {
    return read_text(served.node.path("log")).find("waiting for a device") != std::string::npos;
  };
  CHECK(eventually(waits));
  // Others are served meanwhile.
  const auto other = served.connect();
  v1beta1::AllocateResponse others;
  CHECK(other->allocate(request_for({{"0000:21:10.2"}}), others).ok());
  CHECK_FALSE(answered);
  fs::rename(served.node.path("in-a-pod"), rdma);
  kubelet.join();
  CHECK(status.ok());
  REQUIRE(response.container_responses_size() == 1);
  CHECK(response.container_responses(0).devices_size() == 3);
}

TEST_CASE("after a wait in vain an Allocate is refused, and the next ones without waiting") {
  Served served(make_pool({}), milliseconds{1});
  REQUIRE(served.log.open_file(served.node.path("log")));
  served.service.publish(served.node.pool());
  fs::remove_all(served.node.root() + "/sys/bus/pci/devices/0000:21:10.0/infiniband");
  const auto client = served.connect();
  for (int i = 0; i < 2; ++i) {
    v1beta1::AllocateResponse response;
    const auto status = client->allocate(request_for({{"0000:21:10.0"}}), response);
    CHECK(status.error_code() == grpc::StatusCode::UNAVAILABLE);
    CHECK(response.container_responses_size() == 0);
  }
  const std::string log = read_text(served.node.path("log"));
  const size_t first = log.find("waiting for a device");
  REQUIRE(first != std::string::npos);
  CHECK(log.find("waiting for a device", first + 1) == std::string::npos);
}

TEST_CASE("50 Allocates of other devices are answered while one waits for a device that never returns") {
  Served served(make_pool({}), kDeadline);
  REQUIRE(served.log.open_file(served.node.path("log")));
  served.service.publish(served.node.pool());
  fs::remove_all(served.node.root() + "/sys/bus/pci/devices/0000:21:10.0/infiniband");
  auto client = served.connect();
  std::atomic<bool> answered = false;
  std::thread in_vain([&] {
    v1beta1::AllocateResponse response;
    (void)client->allocate(request_for({{"0000:21:10.0"}}), response);  // until its own deadline
    answered = true;
  });
  CHECK(eventually(
      [&] { return read_text(served.node.path("log")).find("waiting for a device") != std::string::npos; }));
  constexpr int kPods = 50;
  const std::vector<std::string> others{"0000:21:10.2", "0000:21:10.4", "0000:21:10.6", "0000:41:10.0",
                                        "0000:41:10.2", "0000:41:10.4", "0000:41:10.6"};
  std::atomic<int> next = 0;
  std::mutex mutex;
  std::vector<double> times_ms;
  std::vector<std::thread> pods;
  for (const std::string& device : others) {
    pods.emplace_back([&] {
      const auto own = served.connect();
      while (next++ < kPods) {
        v1beta1::AllocateResponse response;
        const auto begin = std::chrono::steady_clock::now();
        const bool ok = own->allocate(request_for({{device}}), response).ok();
        const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
        const std::lock_guard lock(mutex);
        if (ok) times_ms.push_back(took.count());
      }
    });
  }
  for (std::thread& pod : pods) pod.join();
  CHECK_FALSE(answered);
  REQUIRE(times_ms.size() == kPods);
  std::sort(times_ms.begin(), times_ms.end());
  WARN("Allocate of another device: median " << times_ms[kPods / 2] << " ms, longest " << times_ms.back()
                                             << " ms");
  in_vain.join();
}

TEST_CASE("every kind of error has its gRPC code") {
  const auto code = [](Errc errc) { return to_status(Error{errc, 0, "why"}).error_code(); };
  CHECK(code(Errc::busy) == grpc::StatusCode::UNAVAILABLE);
  CHECK(code(Errc::not_yet) == grpc::StatusCode::UNAVAILABLE);
  CHECK(code(Errc::unsupported) == grpc::StatusCode::FAILED_PRECONDITION);
  CHECK(code(Errc::denied) == grpc::StatusCode::PERMISSION_DENIED);
  CHECK(code(Errc::timeout) == grpc::StatusCode::DEADLINE_EXCEEDED);
  CHECK(code(Errc::system) == grpc::StatusCode::INTERNAL);
  CHECK(to_status(Error{Errc::system, 0, "why"}).error_message() == "why [VF-SYSTEM-CALL]");
}

TEST_CASE("a request larger than kubelet can make is refused") {
  Served served(make_pool({}));
  const auto client = served.connect();
  v1beta1::AllocateResponse response;
  const auto status = client->allocate(request_for({{std::string(2 << 20, 'x')}}), response);
  CHECK(status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST_CASE("a socket is private, and no other name is left in the folder") {
  Served served(make_pool({}));
  CHECK(mode_of(served.node.path("s.sock")) == 0600);
  std::vector<std::string> sockets;
  for (const auto& entry : fs::directory_iterator(served.node.path(""))) {
    if (entry.is_socket()) sockets.push_back(entry.path().filename());
  }
  CHECK(sockets == std::vector<std::string>{"s.sock"});
}

TEST_CASE("opening replaces a stale socket and refuses any other file") {
  Served served(make_pool({}));
  served.endpoint.close(milliseconds{0});
  const std::string path = served.node.path("s.sock");
  SECTION("a stale socket") {
    const UniqueFd stale(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    REQUIRE(::bind(stale.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    REQUIRE(served.endpoint.open());
    CHECK(served.connect()->options());
  }
  SECTION("a file") {
    std::ofstream(path) << "precious";
    const auto refused = served.endpoint.open();
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == Errc::exists);
    CHECK(read_text(path) == "precious");
  }
  SECTION("a link to a socket") {
    fs::create_symlink("/dev/null", path);
    CHECK_FALSE(served.endpoint.open());
    CHECK(fs::is_symlink(path));
  }
  SECTION("a missing folder") {
    Service lost(make_pool({}),
                 {.endpoint = "/nonexistent/s.sock", .places = served.node.places(), .on_registration = {}},
                 served.log);
    CHECK_FALSE(Endpoint(lost).open());
  }
}

TEST_CASE("closing leaves a successor's socket alone") {
  Served served(make_pool({}));
  Service next(
      make_pool({"0000:03:02.1"}),
      {.endpoint = served.node.path("s.sock"), .places = served.node.places(), .on_registration = {}},
      served.log);
  Endpoint successor(next);
  REQUIRE(successor.open());
  CHECK(served.endpoint.socket() == Endpoint::Socket::foreign);
  CHECK(successor.socket() == Endpoint::Socket::ours);
  served.endpoint.close(milliseconds{100});
  CHECK(successor.socket() == Endpoint::Socket::ours);
  CHECK(served.connect()->options());
}

}  // namespace vfrail::test

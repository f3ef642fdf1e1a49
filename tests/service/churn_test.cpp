// 16 clients call everything at once while the inventory changes under them. For the sanitizers, mostly.
#include "plugin/service/kubelet/endpoint.h"
#include "plugin/service/kubelet/service.h"
#include "tests/kubelet/plugin_client.h"
#include "tests/service/support.h"
#include "tests/support/deadline.h"

#include <atomic>
#include <memory>
#include <random>
#include <thread>

#include <catch2/catch.hpp>

namespace vfrail::test {
using namespace plugin;

namespace {

constexpr int kClients = 16;
constexpr int kRounds = 60;

struct Counts {
  std::atomic<int> allocated{0};
  std::atomic<int> refused{0};
  std::atomic<int> lists{0};
  std::atomic<int> broken{0};  // answers that nobody should get
};

// Two clients have the same device, which is more than kubelet would ask for.
void call_everything(const std::string& socket, int number, Counts& counts) {
  std::mt19937 random(static_cast<unsigned>(number));
  for (int round = 0; round < kRounds; ++round) {
    auto client = PluginClient::connect(socket, kDeadline);
    if (!client) {
      ++counts.broken;
      continue;
    }
    PluginClient& plugin = **client;
    if (random() % 2 == 0) plugin.watch([&](const auto&) { ++counts.lists; }, [](const grpc::Status&) {});
    if (!plugin.options() || !plugin.info()) ++counts.broken;
    v1beta1::AllocateRequest request;
    const int vf = number % 8;
    request.add_container_requests()->add_devices_ids((vf < 4 ? "0000:21:10." : "0000:41:10.") +
                                                      std::to_string(vf % 4 * 2));
    v1beta1::AllocateResponse response;
    const grpc::Status status = plugin.allocate(request, response);
    ++(status.ok() ? counts.allocated : counts.refused);
    if (!status.ok() && status.error_code() != grpc::StatusCode::NOT_FOUND) ++counts.broken;
    v1beta1::PreferredAllocationRequest preferring;
    auto& container = *preferring.add_container_requests();
    container.set_allocation_size(2);
    for (const char* id : {"0000:21:10.0", "0000:21:10.2", "0000:41:10.0", "0000:41:10.2"})
      container.add_available_deviceids(id);
    v1beta1::PreferredAllocationResponse answer;
    const bool preferred = plugin.preferred(preferring, answer).ok() &&
                           answer.container_responses_size() == 1 &&
                           answer.container_responses(0).deviceids_size() == 2;
    if (!preferred) ++counts.broken;
    if (!plugin.pre_start({}).ok()) ++counts.broken;
  }
}

}  // namespace

TEST_CASE("16 clients call everything while the list keeps changing", "[threads]") {
  const IgbNode node;
  Pool full = node.pool();
  full.config.preference = Preference::pcie;
  Log log;
  (void)log.open_file(node.path("churn.log"));
  const std::string socket = node.path("churn.sock");
  // Not on the stack, see tests/support/tsan_filter.
  const auto owner = std::make_unique<vfrail::plugin::Service>(
      full,
      vfrail::plugin::Service::Options{
          .endpoint = socket, .places = node.places(), .on_registration = [](auto) {}},
      log);
  vfrail::plugin::Service& service = *owner;
  Endpoint endpoint(service);
  REQUIRE(endpoint.open());
  Counts counts;
  std::vector<std::thread> clients;
  std::atomic<int> running{kClients};
  for (int i = 0; i < kClients; ++i) {
    clients.emplace_back([&, i] {
      call_everything(socket, i, counts);
      --running;
    });
  }
  std::mt19937 random(1);
  while (running > 0) {
    Pool next = full;
    next.devices.erase(next.devices.begin() + static_cast<ptrdiff_t>(random() % next.devices.size()));
    if (random() % 2 == 0) next.devices.front().fault = {FaultCode::port_down, "its port is down"};
    service.publish(std::move(next));
    std::this_thread::yield();
  }
  for (std::thread& client : clients) client.join();
  CHECK(counts.broken == 0);
  CHECK(counts.allocated > 0);
  CHECK(counts.lists > 0);
  CHECK(eventually([&] { return service.streams() == 0; }));
}

}  // namespace vfrail::test

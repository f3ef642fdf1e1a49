// CDI from the request to the answer and the files: prepare(), and the service over a real socket.
#include "common/container/allocated_nodes.h"
#include "common/container/cdi_spec.h"
#include "plugin/device/allocate/prepare.h"
#include "plugin/service/kubelet/endpoint.h"
#include "tests/kubelet/plugin_client.h"
#include "tests/service/support.h"
#include "tests/support/deadline.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>

namespace vfrail::test {
using namespace plugin;
namespace {

namespace fs = std::filesystem;
using Texts = std::vector<std::string>;

AllocatePlaces with_cdi(const IgbNode& node) {
  fs::create_directories(node.cdi_dir());
  AllocatePlaces out = node.places();
  out.cdi_dir = node.cdi_dir();
  return out;
}

Texts nodes_in(const std::string& path) {
  const auto spec = read_cdi_spec(path);
  REQUIRE(spec);
  REQUIRE(*spec);
  Texts out;
  for (const DeviceNode& node : (*spec)->edits.nodes) out.push_back(node.host_path);
  std::sort(out.begin(), out.end());
  return out;
}

Texts specs(const IgbNode& node) {
  Texts out;
  for (const auto& entry : fs::directory_iterator(node.cdi_dir())) out.push_back(entry.path().filename());
  std::sort(out.begin(), out.end());
  return out;
}

AllocatedNodes promise_of(const IgbNode& node, const std::string& device) {
  const auto allocated = read_allocated_nodes(node.run_dir(), *DeviceId::parse(device));
  REQUIRE(allocated);
  REQUIRE(*allocated);
  return **allocated;
}

}  // namespace

TEST_CASE("with CDI each device has a spec with its nodes, and its AllocatedNodes name the file") {
  const IgbNode node;
  const auto out = prepare(node.pool(), {{"0000:21:10.2", "0000:21:10.0"}}, with_cdi(node));
  REQUIRE(out);
  CHECK(out->front().nodes.empty());
  CHECK(out->front().env.at("PCIDEVICE_NVIDIA_COM_HOSTDEV") == "0000:21:10.2,0000:21:10.0");
  CHECK(nodes_in(node.cdi_spec("0000:21:10.0")) ==
        Texts{"/dev/infiniband/rdma_cm", "/dev/infiniband/umad0", "/dev/infiniband/uverbs0"});
  CHECK(nodes_in(node.cdi_spec("0000:21:10.2")) ==
        Texts{"/dev/infiniband/rdma_cm", "/dev/infiniband/umad1", "/dev/infiniband/uverbs1"});
  CHECK(promise_of(node, "0000:21:10.0") ==
        AllocatedNodes{{"umad0", "uverbs0"}, node.cdi_spec("0000:21:10.0")});
  CHECK(mode_of(node.cdi_spec("0000:21:10.0")) == 0644);
}

TEST_CASE("a spec has the present nodes, whatever an earlier pod has left") {
  const IgbNode node;
  const AllocatePlaces places = with_cdi(node);
  CdiSpec old{"nvidia.com/net-pci", "0000:21:10.0", {.nodes = {{"/dev/old", "/dev/old", "rwm"}}}};
  REQUIRE(write_cdi_spec(node.cdi_spec(old.device), node.cdi_dir() + "/new", old));
  REQUIRE(prepare(node.pool(), {{"0000:21:10.0"}}, places));
  CHECK(nodes_in(node.cdi_spec("0000:21:10.0")).front() == "/dev/infiniband/rdma_cm");
  CHECK(specs(node).size() == 1);
}

TEST_CASE("a device without nodes has no spec, and its pool is allocated all the same") {
  const IgbNode node;
  Pool pool = node.pool();
  for (PoolDevice& device : pool.devices) device.rdma = false;
  const auto out = prepare(pool, {{"0000:21:10.0"}}, with_cdi(node));
  REQUIRE(out);
  CHECK(out->front().cdi_devices.empty());
  CHECK(specs(node).empty());
}

TEST_CASE("a request that fails leaves no spec that was not there") {
  const IgbNode node;
  const AllocatePlaces places = with_cdi(node);
  REQUIRE(prepare(node.pool(), {{"0000:21:10.4"}}, places));
  const Texts before = specs(node);
  // A folder in the place of the last AllocatedNodes: rename(2) refuses.
  fs::create_directories(node.run_dir() + "/promised/0000:21:10.2.json");
  CHECK_FALSE(prepare(node.pool(), {{"0000:21:10.0", "0000:21:10.4"}, {"0000:21:10.2"}}, places));
  CHECK(specs(node) == before);
}

TEST_CASE("without its folder CDI is an error that names the file") {
  const IgbNode node;
  AllocatePlaces places = node.places();
  places.cdi_dir = node.path("nowhere");
  const auto out = prepare(node.pool(), {{"0000:21:10.0"}}, places);
  REQUIRE_FALSE(out);
  CHECK(out.error().text.find("write the CDI spec of 0000:21:10.0") == 0);
  CHECK(node.written().empty());
}

TEST_CASE("over the socket: names in the field and in an annotation, and no device nodes") {
  const IgbNode node;
  Log log;
  REQUIRE(log.open_file("/dev/null"));
  Pool pool = node.pool();
  pool.devices.back().rdma = false;
  Service service(std::move(pool),
                  {.endpoint = node.path("s.sock"),
                   .places = with_cdi(node),
                   .on_registration = [](const RegistrationResult&) {}},
                  log);
  Endpoint endpoint(service);
  REQUIRE(endpoint.open());
  const auto client = PluginClient::connect(node.path("s.sock"), kDeadline);
  REQUIRE(client);
  v1beta1::AllocateRequest request;
  auto* first = request.add_container_requests();
  first->add_devices_ids("0000:21:10.0");
  first->add_devices_ids("0000:41:10.6");
  request.add_container_requests()->add_devices_ids("0000:41:10.0");
  v1beta1::AllocateResponse response;
  REQUIRE((*client)->allocate(request, response).ok());
  REQUIRE(response.container_responses_size() == 2);
  const auto& one = response.container_responses(0);
  CHECK(one.devices_size() == 0);
  REQUIRE(one.cdi_devices_size() == 1);
  CHECK(one.cdi_devices(0).name() == "nvidia.com/net-pci=0000:21:10.0");
  REQUIRE(one.annotations_size() == 1);
  CHECK(one.annotations().begin()->second == "nvidia.com/net-pci=0000:21:10.0");
  CHECK(one.envs().at("PCIDEVICE_NVIDIA_COM_HOSTDEV") == "0000:21:10.0,0000:41:10.6");
  const auto& other = response.container_responses(1);
  CHECK(other.cdi_devices(0).name() == "nvidia.com/net-pci=0000:41:10.0");
  CHECK(other.annotations().begin()->first != one.annotations().begin()->first);
  CHECK(specs(node).size() == 2);
}

}  // namespace vfrail::test

// What a claim costs: NodePrepareResources and NodeUnprepareResources over the driver's real socket, of one
// device each, on a node of 1,024 made-up VFs, one claim after another and 200 at once. The API server's
// answer is there at once, so that the times are vfrail's own.
#include "plugin/device/config/formats/parse_config.h"
#include "plugin/device/inventory/inventory.h"
#include "plugin/dra/api_agent.h"
#include "plugin/dra/slice_devices.h"
#include "plugin/service/dra/dra_apis.h"
#include "plugin/service/dra/dra_publisher.h"
#include "tests/bench/node_tree.h"
#include "tests/support/temp_dir.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <grpcpp/grpcpp.h>

namespace {

using namespace vfrail;
using namespace vfrail::plugin;
using namespace vfrail::test;
using Clock = std::chrono::steady_clock;
using Stub = DraV1::Service::Stub;

constexpr size_t kVfs = 1024;
constexpr size_t kClaims = 200;

double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

std::string uid_of(size_t claim) {
  char out[37];
  std::snprintf(out, sizeof out, "2f0c8f1e-5b7d-4c0e-9b1a-%012zu", claim);
  return out;
}

// Each claim has the device of its number.
class Claims final : public ApiAgent {
 public:
  explicit Claims(const std::vector<SliceDevice>& devices) {
    for (size_t i = 0; i < kClaims; ++i) {
      const Json result = Json::object()
                              .set("request", "nic")
                              .set("driver", "vfrail.io")
                              .set("pool", "node-1")
                              .set("device", devices.at(i).name);
      const Json allocation =
          Json::object().set("devices", Json::object().set("results", Json::Array{result}));
      const Json pod = Json::object().set("resource", "pods").set("name", "trainer-0").set("uid", "77");
      const Json annotations = Json::object().set("resource.kubernetes.io/pod-claim-name", "nic");
      claims_[uid_of(i)] =
          Json::object()
              .set("metadata", Json::object().set("uid", uid_of(i)).set("annotations", annotations))
              .set("status",
                   Json::object().set("allocation", allocation).set("reservedFor", Json::Array{pod}));
    }
  }
  Result<std::optional<Json>> claim(const ClaimName& name) override {
    return std::optional(claims_.at(name.uid));
  }
  Result<> set_status(const ClaimName&, const Json&) override { return {}; }

 private:
  std::map<std::string, Json> claims_;
};

Pool pool_of(const std::string& root) {
  const auto config = parse_config(
      R"({"resourceList":[{"resourcePrefix":"nvidia.com","resourceName":"hostdev","selectors":{"isRdma":true}}]})",
      {"config.json", "intel.com", true});
  const auto inventory = scan(SysRoot(root), nullptr);
  if (!config || !inventory) throw std::runtime_error("cannot scan");
  return match(*config, *inventory).pools.at(0);
}

// `method` for one claim; throws what it refuses.
template <class Request, class Response>
void call_for(Stub& stub, grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
              size_t claim) {
  Request request;
  auto& out = *request.add_claims();
  out.set_namespace_("default");
  out.set_name("nic");
  out.set_uid(uid_of(claim));
  Response response;
  grpc::ClientContext context;
  const grpc::Status status = (stub.*method)(&context, request, &response);
  if (!status.ok()) throw std::runtime_error(status.error_message());
  const auto& answer = response.claims().at(uid_of(claim));
  if (!answer.error().empty()) throw std::runtime_error(answer.error());
}

void prepare(Stub& stub, size_t claim) { call_for(stub, &Stub::NodePrepareResources, claim); }
void unprepare(Stub& stub, size_t claim) { call_for(stub, &Stub::NodeUnprepareResources, claim); }

using Call = std::function<void(Stub&, size_t)>;

void print(const char* what, std::vector<double> took, double all) {
  std::sort(took.begin(), took.end());
  const auto at = [&](double part) {
    return took[static_cast<size_t>(part * static_cast<double>(took.size() - 1))];
  };
  std::printf("| %s | %.2f | %.2f | %.2f | %.0f |\n", what, at(0.5), at(0.99), took.back(), all);
}

void one_by_one(const char* what, Stub& stub, const Call& call) {
  std::vector<double> took;
  const auto begin = Clock::now();
  for (size_t i = 0; i < kClaims; ++i) {
    const auto start = Clock::now();
    call(stub, i);
    took.push_back(ms_since(start));
  }
  print(what, std::move(took), ms_since(begin));
}

void at_once(const char* what, Stub& stub, const Call& call) {
  std::vector<double> took(kClaims);
  const auto begin = Clock::now();
  std::vector<std::thread> callers;
  for (size_t i = 0; i < kClaims; ++i) {
    callers.emplace_back([&, i] {
      call(stub, i);
      took[i] = ms_since(begin);
    });
  }
  for (std::thread& caller : callers) caller.join();
  print(what, std::move(took), ms_since(begin));
}

void measure() {
  const TempDir folder;
  bench::write_node(folder.path("root"), kVfs);
  for (const char* one : {"kubelet/plugins_registry", "cdi", "cni"})
    std::filesystem::create_directories(folder.path(one));
  const PublishedPool pool(pool_of(folder.path("root")));
  Claims claims(slice_devices(pool, 1));
  Log log;
  if (!log.open_file("/dev/null")) throw std::runtime_error("cannot open /dev/null");
  DraPublisher::Options options{.kubelet_root = folder.path("kubelet"),
                                .places = {.sys = SysRoot(folder.path("root")),
                                           .device_info_dir = folder.path("devinfo"),
                                           .run_dir = folder.path("run"),
                                           .cdi_dir = folder.path("cdi"),
                                           .cni_state_dir = folder.path("cni")},
                                .node_pool = [] { return std::string("node-1"); }};
  DraPublisher publisher(std::move(options), claims, log);
  if (!publisher.start([] {})) throw std::runtime_error("the driver does not start");
  publisher.follow({pool}, Clock::now());
  publisher.run_due(Clock::now());
  const auto stub = DraV1::Service::NewStub(grpc::CreateChannel(
      "unix:" + folder.path("kubelet/plugins/vfrail.io/dra.sock"), grpc::InsecureChannelCredentials()));
  std::printf("| %zu claims | p50 ms | p99 ms | slowest ms | all ms |\n|---|---|---|---|---|\n", kClaims);
  one_by_one("prepare, one by one", *stub, prepare);
  one_by_one("prepare again, as after a restart of kubelet", *stub, prepare);
  one_by_one("unprepare, one by one", *stub, unprepare);
  at_once("prepare, all at once", *stub, prepare);
  at_once("unprepare, all at once", *stub, unprepare);
}

}  // namespace

int main() {
  try {
    measure();
    return 0;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "bench-claims: %s\n", failure.what());
    return 1;
  }
}

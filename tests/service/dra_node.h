// DraNode: `vfrail serve` on a node with claims, and who asks it: kubelet over the real sockets. The API
// server is played by a map.
#pragma once

#include "plugin/device/allocate/prepared_record.h"
#include "plugin/dra/api_agent.h"
#include "plugin/service/dra/dra_apis.h"
#include "plugin/service/dra/dra_publisher.h"
#include "tests/service/support.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

namespace vfrail::test {
using namespace plugin;

using Texts = std::vector<std::string>;

inline const std::string kUid = "2f0c8f1e-5b7d-4c0e-9b1a-0d3c8c0f7a11";

// What vfrail-kube would answer.
class FakeApi final : public ApiAgent {
 public:
  Result<std::optional<Json>> claim(const ClaimName& name) override {
    const std::lock_guard lock(mutex_);
    ++calls_;
    if (away_) return Error{Errc::peer, 0, "vfrail-kube node is not reached"};
    const auto at = claims_.find(name.uid);
    return at == claims_.end() ? std::optional<Json>() : std::optional(at->second);
  }
  Result<> set_status(const ClaimName&, const Json&) override { return {}; }

  // With a result of another driver before ours.
  void put(const std::string& uid, const std::vector<ClaimedRequest>& requests) {
    Json results = Json::array();
    results.push(Json::object()
                     .set("request", "gpu")
                     .set("driver", "gpu.nvidia.com")
                     .set("pool", "node-1")
                     .set("device", "gpu-4"));
    for (const ClaimedRequest& request : requests) {
      for (const std::string& device : request.devices) {
        Json result = Json::object();
        result.set("request", request.name).set("driver", "vfrail.io").set("pool", "node-1");
        result.set("device", device);
        const auto share = request.shares.find(device);
        if (share != request.shares.end()) result.set("shareID", share->second);
        results.push(std::move(result));
      }
    }
    Json pods = Json::array();
    pods.push(Json::object().set("resource", "pods").set("name", "trainer-0").set("uid", "77"));
    Json status =
        Json::object()
            .set("allocation", Json::object().set("devices", Json::object().set("results", results)))
            .set("reservedFor", pods);
    const Json annotations = Json::object().set("resource.kubernetes.io/pod-claim-name", "devices");
    const Json metadata = Json::object().set("uid", uid).set("annotations", annotations);
    put_json(uid, Json::object().set("metadata", metadata).set("status", status));
  }
  void put_json(const std::string& uid, Json claim) {
    const std::lock_guard lock(mutex_);
    claims_.insert_or_assign(uid, std::move(claim));
  }
  void remove(const std::string& uid) {
    const std::lock_guard lock(mutex_);
    claims_.erase(uid);
  }
  void set_away(bool away) {
    const std::lock_guard lock(mutex_);
    away_ = away;
  }
  int calls() const {
    const std::lock_guard lock(mutex_);
    return calls_;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, Json> claims_;
  bool away_ = false;
  int calls_ = 0;
};

// `vfrail serve` on a node, and kubelet's folders.
struct DraNode {
  DraNode() {
    REQUIRE(log.open_file("/dev/null"));
    std::filesystem::create_directories(node.path("kubelet/plugins_registry"));
    std::filesystem::create_directories(node.cdi_dir());
    pool = node.pool();
    start();
  }

  DraPublisher::Options options() {
    AllocatePlaces places = node.places();
    places.cdi_dir = node.cdi_dir();
    places.cni_state_dir = node.path("cni");
    return {.kubelet_root = node.path("kubelet"),
            .instance = instance,
            .places = std::move(places),
            .node_pool = [this] { return node_pool; },
            .health_interval = std::chrono::milliseconds{50},
            .counters = &counters};
  }

  // Its devices are shared now, as rdma/hca.
  void share(UnitKind unit) {
    publisher.reset();
    pool.config.prefix = "rdma";
    pool.config.name = "hca";
    pool.config.unit = unit;
    pool.config.units = 500;
    start();
  }
  void start() {
    publisher = std::make_unique<DraPublisher>(options(), api, log);
    REQUIRE(publisher->start([] {}));
    publisher->follow({PublishedPool(pool)}, now());
    publisher->run_due(now());
  }
  static Publisher::Time now() { return std::chrono::steady_clock::now(); }

  std::string plugin_socket() const { return node.path("kubelet/plugins/vfrail.io/dra.sock"); }
  std::string registration_socket() const { return node.path("kubelet/plugins_registry/vfrail.io-reg.sock"); }
  std::shared_ptr<grpc::Channel> channel(const std::string& socket) const {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel("unix:" + socket, grpc::InsecureChannelCredentials(), arguments);
  }

  template <class Api = DraV1>
  typename Api::PrepareResponse prepare(const Texts& uids) const {
    typename Api::PrepareRequest request;
    for (const std::string& uid : uids) add_claim(uid, *request.add_claims());
    typename Api::PrepareResponse response;
    grpc::ClientContext context;
    const auto stub = Api::Service::NewStub(channel(plugin_socket()));
    REQUIRE(stub->NodePrepareResources(&context, request, &response).ok());
    REQUIRE(size_t(response.claims_size()) == std::set<std::string>(uids.begin(), uids.end()).size());
    return response;
  }
  template <class Api = DraV1>
  std::string unprepare(const std::string& uid) const {
    typename Api::UnprepareRequest request;
    add_claim(uid, *request.add_claims());
    typename Api::UnprepareResponse response;
    grpc::ClientContext context;
    const auto stub = Api::Service::NewStub(channel(plugin_socket()));
    REQUIRE(stub->NodeUnprepareResources(&context, request, &response).ok());
    REQUIRE(response.claims().contains(uid));
    return response.claims().at(uid).error();
  }
  // Of a claim that is refused.
  std::string refusal(const std::string& uid = kUid) const {
    const auto response = prepare({uid});
    CHECK(response.claims().at(uid).devices_size() == 0);
    return response.claims().at(uid).error();
  }
  Texts specs() const {
    Texts out;
    for (const auto& entry : std::filesystem::directory_iterator(node.cdi_dir()))
      out.push_back(entry.path().filename());
    std::sort(out.begin(), out.end());
    return out;
  }

  IgbNode node;
  FakeApi api;
  Log log;
  Pool pool;
  std::string node_pool = "node-1";
  std::string instance;
  Counters counters;
  std::unique_ptr<DraPublisher> publisher;

 private:
  template <class Claim>
  static void add_claim(const std::string& uid, Claim& out) {
    out.set_namespace_("default");
    out.set_name("gpu-and-nic");
    out.set_uid(uid);
  }
};

inline const std::vector<ClaimedRequest> kNic{{"nic", {"0000-21-10-0"}}};

inline bool has(const std::string& text, std::string_view part) {
  UNSCOPED_INFO(text);
  return text.find(part) != std::string::npos;
}

}  // namespace vfrail::test

// The socket of `vfrail-kube node`: its requests, and what becomes of claims.
#include "plugin/kube/node/node_api.h"

#include "common/files.h"
#include "plugin/kube/client/resource_type.h"
#include "tests/kube/controller/fake_cluster.h"
#include "tests/kube/node/running_node.h"

#include <mutex>
#include <sys/stat.h>

using namespace vfrail;
using namespace vfrail::kube;
using namespace vfrail::test;
using Catch::Contains;

namespace {

constexpr const char* kClaim = "/claims/default/nic?uid=c-1";
constexpr const char* kStatus = "/claims/default/nic/status?uid=c-1";
constexpr const char* kEntries =
    R"({"devices":[{"driver":"vfrail.io","pool":"node-1","device":"0000-3b-02-1","data":{"a":1}}]})";

void add_claim(FakeCluster& cluster, const std::string& uid = "c-1") {
  cluster.put("resourceclaims", parsed(R"({"metadata":{"namespace":"default","name":"nic","uid":")" + uid +
                                       R"(","managedFields":[{"manager":"kubectl"}]},
      "status":{"allocation":{"devices":{"results":[{"driver":"vfrail.io"}]}}}})"));
}

// An API server with one claim, which keeps what it is asked to write.
struct ClaimServer {
  ServedRequest write() const {
    const std::lock_guard lock(mutex);
    return written;
  }

  mutable std::mutex mutex;
  ServedRequest written;
  unsigned status = 200;
  ApiServer server{[this](const ServedRequest& request, ServedAnswer& answer) {
    if (request.method != "PATCH") {
      const bool is_claim = request.target.find("resourceclaims/nic") != std::string::npos;
      return answer.reply(is_claim ? 200 : 404, is_claim ? R"({"metadata":{"uid":"c-1"}})" : "{}");
    }
    const std::lock_guard lock(mutex);
    written = request;
    answer.reply(status, status == 200 ? "{}" : status_text(status, "Conflict", "uid in precondition"));
  }};
};

}  // namespace

TEST_CASE("a claim is answered as the API server has it, without who manages its fields") {
  FakeCluster cluster;
  add_claim(cluster);
  const RunningNode node(cluster.access());
  const SocketAnswer answer = ask(node.socket(), "GET", kClaim);
  CHECK(answer.status == 200);
  CHECK(uid_of(answer.body) == "c-1");
  CHECK(answer.body.find("metadata")->find("managedFields") == nullptr);
  CHECK(list_at(answer.body, {"status", "allocation", "devices", "results"}).size() == 1);
}

TEST_CASE("a claim that is gone, or has another uid, is 404 with the reason") {
  FakeCluster cluster;
  const RunningNode node(cluster.access());
  cluster.page("/apis/resource.k8s.io/v1", "{}");
  const SocketAnswer gone = ask(node.socket(), "GET", kClaim);
  CHECK(gone.status == 404);
  CHECK_THAT(gone.reason(), Contains("default/nic is not there"));
  add_claim(cluster, "c-2");
  const SocketAnswer other = ask(node.socket(), "GET", kClaim);
  CHECK(other.status == 404);
  CHECK_THAT(other.reason(), Contains("has the uid c-2 and not c-1"));
  CHECK(ask(node.socket(), "PUT", kStatus, kEntries).status == 404);
}

TEST_CASE("an API server that does not know claims, or is away, is 503 and no claim that is gone") {
  FakeCluster cluster;
  add_claim(cluster);
  const RunningNode node(cluster.access());
  cluster.serve_kind("resourceclaims", false);
  const SocketAnswer unknown = ask(node.socket(), "GET", kClaim);
  CHECK(unknown.status == 503);
  CHECK_THAT(unknown.reason(), Contains("Kubernetes 1.34 or later is needed"));
  cluster.server().stop();
  cluster.server().end_connections();
  const SocketAnswer away = ask(node.socket(), "GET", kClaim);
  CHECK(away.status == 503);
  CHECK_FALSE(away.reason().empty());
  CHECK(ask(node.socket(), "PUT", kStatus, kEntries).status == 503);
}

TEST_CASE("a missing token is 503: it says nothing about claims") {
  FakeCluster cluster;
  add_claim(cluster);
  ClusterAccess access = cluster.access();
  access.token = {};
  access.token.file = "/nowhere/token";
  const RunningNode node(access);
  CHECK(ask(node.socket(), "GET", kClaim).status == 503);
}

TEST_CASE("the status of a claim is applied by this node's field manager, with our entries alone") {
  ClaimServer claims;
  const RunningNode node(claims.server.access());
  const SocketAnswer answer = ask(node.socket(), "PUT", kStatus, kEntries);
  CHECK(answer.status == 200);
  CHECK(answer.body.text() == "{}");
  const ServedRequest write = claims.write();
  CHECK(write.content_type == "application/apply-patch+yaml");
  CHECK(write.target ==
        "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/nic/"
        "status?fieldManager=vfrail.io-node-1&force=true");
  CHECK(write.body == R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"name":"nic",)"
                      R"("namespace":"default","uid":"c-1"},"status":{"devices":[{"driver":"vfrail.io",)"
                      R"("pool":"node-1","device":"0000-3b-02-1","data":{"a":1}}]}})");
}

TEST_CASE("a claim that is made again while its status is written is 404") {
  ClaimServer claims;
  claims.status = 409;
  const RunningNode node(claims.server.access());
  CHECK(ask(node.socket(), "PUT", kStatus, kEntries).status == 404);
}

TEST_CASE("entries of another driver are refused, and nothing is written") {
  ClaimServer claims;
  const RunningNode node(claims.server.access());
  const SocketAnswer answer =
      ask(node.socket(), "PUT", kStatus, R"({"devices":[{"driver":"gpu.nvidia.com"}]})");
  CHECK(answer.status == 400);
  CHECK_THAT(answer.reason(), Contains("gpu.nvidia.com") && Contains("vfrail.io"));
  CHECK(ask(node.socket(), "PUT", kStatus, R"({"devices":{}})").status == 400);
  CHECK(claims.write().method.empty());
}

TEST_CASE("a field manager has at most 128 characters") {
  CHECK(field_manager("vfrail.io", "node-1") == "vfrail.io-node-1");
  CHECK(field_manager("vfrail.io", std::string(253, 'n')).size() == 128);
}

TEST_CASE("what is no request of vfrail serve is 400 with the reason") {
  FakeCluster cluster;
  const RunningNode node(cluster.access());
  for (const char* target :
       {"/", "/claims/default/nic", "/claims/default/nic?uid=", "/claims/nic?uid=a", "/claims/../nic?uid=a",
        "/claims/default/%2e%2e?uid=a", "/claims/default/a%?uid=a", "/claims/default/a%2fb?uid=a",
        "/claims/default/nic/spec?uid=a"})
    CHECK(ask(node.socket(), "GET", target).status == 400);
  CHECK(ask(node.socket(), "DELETE", kClaim).status == 400);
  CHECK(ask(node.socket(), "PUT", "/devices", "no json").status == 400);
  CHECK_THAT(ask(node.socket(), "PUT", "/devices", R"({"driver":"vfrail.io"})").reason(),
             Contains("devices: must be a list"));
  CHECK_THAT(ask(node.socket(), "PUT", "/devices", R"({"driver":"dra.net","devices":[]})").reason(),
             Contains("--dra-driver") && Contains("dra.net"));
}

TEST_CASE("the target of a claim is read with its escapes") {
  const auto target = parse_claim_target("/claims/default/nic-0/status?uid=a%2Db");
  REQUIRE(target);
  CHECK(target->claim.text() == "default/nic-0");
  CHECK(target->claim.uid == "a-b");
  CHECK(target->is_status);
}

TEST_CASE("the socket is for its owner alone, replaces a stale one, and leaves another's") {
  const TempDir dir;
  const std::string path = dir.path("node.sock");
  const auto answer = [](const SocketRequest& request) {
    return SocketReply{200, Json::object().set("size", static_cast<int64_t>(request.body.size()))};
  };
  auto first = SocketServer::start(path, answer);
  REQUIRE(first);
  struct stat there {};
  REQUIRE(::lstat(path.c_str(), &there) == 0);
  CHECK((there.st_mode & 0777) == 0600);
  const auto second = SocketServer::start(path, answer);
  REQUIRE_FALSE(second);
  CHECK_THAT(second.error().text, Contains("served by another process"));
  CHECK(*ask(path, "PUT", "/", std::string(SocketServer::kMaxBody, ' ')).body.find("size") ==
        Json(static_cast<int64_t>(SocketServer::kMaxBody)));
  CHECK(ask(path, "PUT", "/", std::string(SocketServer::kMaxBody + 1, ' ')).status == 413);
  first = Error{};
  CHECK(::lstat(path.c_str(), &there) != 0);
  REQUIRE(write_file(path, "text", 0600, Durability::renamed));
  CHECK_FALSE(SocketServer::start(path, answer));
}

TEST_CASE("a client that sends nothing does not keep others from their answers", "[threads]") {
  FakeCluster cluster;
  add_claim(cluster);
  const RunningNode node(cluster.access());
  std::vector<SocketClient> silent;
  for (int i = 0; i < 15; ++i) silent.emplace_back(node.socket());
  CHECK(ask(node.socket(), "GET", kClaim).status == 200);
  silent[0].send("GET /claims/default/nic?uid=c-1 HTTP/1.1\r\nHost: a\r\n\r\n");
  CHECK_THAT(silent[0].read_all(), Contains("200 OK"));
}

// plugin/kube/client/api_client.h, against a server of ours that does what API servers and what is between
// do.
#include "plugin/kube/client/api_client.h"

#include "common/files.h"
#include "tests/kube/api_server.h"
#include "tests/support/deadline.h"
#include "tests/support/temp_dir.h"

#include <atomic>
#include <mutex>
#include <thread>

#include <catch2/catch.hpp>

namespace vfrail::kube {

namespace {

constexpr const char* kPod =
    R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"default","uid":"u1"}})";

// Requests as a test wants to see them afterwards.
class Seen {
 public:
  void add(const ServedRequest& request) {
    const std::lock_guard lock(mutex_);
    all_.push_back(request);
  }
  std::vector<ServedRequest> all() const {
    const std::lock_guard lock(mutex_);
    return all_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<ServedRequest> all_;
};

Result<> get_pod(ApiClient& client) {
  auto pod = client.get(kPods, {"default", "a"});
  if (!pod) return pod.error();
  return {};
}

ApiServer::Serve always(unsigned status, std::string body, std::vector<std::string> headers = {}) {
  return [=](const ServedRequest&, ServedAnswer& answer) { answer.reply(status, body, headers); };
}

}  // namespace

TEST_CASE("An object is read with the token, over one connection for many requests") {
  Seen seen;
  ApiServer server([&](const ServedRequest& request, ServedAnswer& answer) {
    seen.add(request);
    answer.reply(200, kPod);
  });
  ApiClient client(server.access());
  const auto pod = client.get(kPods, {"default", "a"});
  REQUIRE(pod);
  CHECK(uid_of(**pod) == "u1");
  for (int i = 0; i < 9; ++i) CHECK(get_pod(client));
  REQUIRE(seen.all().size() == 10);
  CHECK(seen.all()[0].target == "/api/v1/namespaces/default/pods/a");
  CHECK(seen.all()[0].authorization == "Bearer secret-token");
  CHECK(server.connections() == 1);
  CHECK(client.counts().requests == 10);
}

TEST_CASE("An object that is not there is no error") {
  ApiServer server(always(404, status_text(404, "NotFound", "pods \"a\" not found")));
  ApiClient client(server.access());
  const auto pod = client.get(kPods, {"default", "a"});
  REQUIRE(pod);
  CHECK(!*pod);
}

TEST_CASE("A refusal has verb, path, status and the server's words, and its kind") {
  const auto refused = [](unsigned status, const std::string& reason) {
    ApiServer server(always(status, status_text(status, reason, "because of this")));
    ApiClient client(server.access());
    const auto result = client.replace(kPods, {"default", "a"}, *Json::parse(kPod));
    REQUIRE(!result);
    CHECK(result.error().sys == static_cast<int>(status));
    CHECK_THAT(result.error().text,
               Catch::Contains("PUT /api/v1/namespaces/default/pods/a: " + std::to_string(status)));
    CHECK_THAT(result.error().text, Catch::Contains("because of this") && !Catch::Contains("secret-token"));
    return result.error().code;
  };
  CHECK(refused(400, "BadRequest") == Errc::invalid);
  CHECK(refused(401, "Unauthorized") == Errc::denied);
  CHECK(refused(403, "Forbidden") == Errc::denied);
  CHECK(refused(409, "Conflict") == Errc::busy);
  CHECK(refused(409, "AlreadyExists") == Errc::exists);
  CHECK(refused(422, "Invalid") == Errc::invalid);
  CHECK(refused(429, "TooManyRequests") == Errc::busy);
  CHECK(refused(500, "InternalError") == Errc::peer);
  CHECK(refused(503, "ServiceUnavailable") == Errc::busy);
}

TEST_CASE("What is no JSON is quoted from its beginning, on one line") {
  ApiServer server(always(502, "<html>\nBad gateway of proxy-7\n" + std::string(100'000, 'x')));
  ApiClient client(server.access());
  const auto result = get_pod(client);
  REQUIRE(!result);
  CHECK_THAT(result.error().text, Catch::Contains("502: <html> Bad gateway of proxy-7"));
  CHECK(result.error().text.size() < 400);
  CHECK(result.error().text.find('\n') == std::string::npos);
}

TEST_CASE("A redirect is not followed: it would take the token elsewhere") {
  Seen seen;
  ApiServer server([&](const ServedRequest& request, ServedAnswer& answer) {
    seen.add(request);
    answer.reply(307, "", {"Location: /elsewhere"});
  });
  ApiClient client(server.access());
  CHECK(!get_pod(client));
  CHECK(seen.all().size() == 1);
}

TEST_CASE("The certificate must be of the authority, and for the name or address") {
  ApiServer server(always(200, kPod), {"kubernetes", "10.96.0.1"});
  ClusterAccess access = server.access();
  access.verified_name = "127.0.0.1";
  ApiClient by_address(access);
  const auto mismatch = get_pod(by_address);
  REQUIRE(!mismatch);
  CHECK(mismatch.error().code == Errc::denied);
  CHECK_THAT(mismatch.error().text,
             Catch::Contains("certificate is refused") && Catch::Contains("IP address mismatch"));
  access.verified_name = "kubernetes";
  ApiClient by_name(access);
  CHECK(get_pod(by_name));
  access.verified_name = "kubernetes.evil";
  ApiClient by_other_name(access);
  CHECK_THAT(get_pod(by_other_name).error().text, Catch::Contains("ostname mismatch"));
  access.verified_name = "kubernetes";
  ApiServer other(always(200, kPod), {"kubernetes"});
  access.authority.text = other.authority();
  ApiClient of_other_authority(access);
  CHECK(get_pod(of_other_authority).error().code == Errc::denied);
  access.authority.text = "no certificate";
  ApiClient without(access);
  CHECK_THAT(get_pod(without).error().text, Catch::Contains("the CA"));
}

TEST_CASE("It reaches an IPv6 address, and a name by /etc/hosts") {
  ApiServer server(always(200, kPod));
  ClusterAccess access = server.access();
  access.host = "localhost";
  access.verified_name = "localhost";
  ApiClient by_name(access);
  CHECK(get_pod(by_name));
  access.host = "::1";
  access.verified_name = "::1";
  ApiClient by_v6(access);
  const auto result = get_pod(by_v6);
  if (!result && result.error().sys == EADDRNOTAVAIL) {
    WARN("not tried: this machine has no address ::1");
    return;
  }
  CHECK(result);
}

TEST_CASE("A token of a file is read again when the server refuses it, and then once") {
  const test::TempDir folder;
  const auto write = [&](const std::string& token) {
    REQUIRE(write_file(folder.path("token"), token + "\n", 0600, Durability::renamed));
  };
  std::atomic<int> requests{0};
  ApiServer server([&](const ServedRequest& request, ServedAnswer& answer) {
    ++requests;
    if (request.authorization == "Bearer new") return answer.reply(200, kPod);
    write("new");  // kubelet renews it
    answer.reply(401, status_text(401, "Unauthorized", "Unauthorized"));
  });
  write("old");
  ClusterAccess access = server.access();
  access.token = {folder.path("token"), ""};
  ApiClient client(access);
  CHECK(get_pod(client));
  CHECK(requests == 2);
  CHECK(get_pod(client));
  CHECK(requests == 3);
}

TEST_CASE("A token that is refused for good ends with the error, after two tries") {
  std::atomic<int> requests{0};
  ApiServer server([&](const ServedRequest&, ServedAnswer& answer) {
    ++requests;
    answer.reply(401, status_text(401, "Unauthorized", "Unauthorized"));
  });
  ApiClient client(server.access());
  const auto result = get_pod(client);
  REQUIRE(!result);
  CHECK(result.error().code == Errc::denied);
  CHECK(requests == 2);
}

TEST_CASE("A token with a line end in it is refused, since it would begin another header") {
  ApiServer server(always(200, kPod));
  ClusterAccess access = server.access("a\r\nX-Remote-User: admin");
  ApiClient client(access);
  const auto result = get_pod(client);
  REQUIRE(!result);
  CHECK_THAT(result.error().text, Catch::Contains("control characters") && !Catch::Contains("X-Remote"));
  CHECK(server.connections() <= 1);
}

TEST_CASE("An authority that is rotated is read again with the next connection") {
  const test::TempDir folder;
  ApiServer server(always(200, kPod));
  REQUIRE(write_file(folder.path("ca.crt"), server.authority(), 0600, Durability::renamed));
  ClusterAccess access = server.access();
  access.authority = {folder.path("ca.crt"), ""};
  ApiClient client(access);
  CHECK(get_pod(client));
  server.rotate_authority();
  CHECK(!get_pod(client));
  REQUIRE(write_file(folder.path("ca.crt"), server.authority(), 0600, Durability::renamed));
  CHECK(get_pod(client));
}

TEST_CASE("A connection that the server ended while nobody used it is replaced without an error") {
  ApiServer server(always(200, kPod));
  ApiClient client(server.access());
  CHECK(get_pod(client));
  server.end_connections();
  CHECK(get_pod(client));
  CHECK(server.connections() == 2);
}

TEST_CASE("A server that restarts is reached again") {
  ApiServer server(always(200, kPod));
  ApiClient client(server.access());
  CHECK(get_pod(client));
  server.stop();
  server.end_connections();
  const auto away = get_pod(client);
  REQUIRE(!away);
  CHECK(away.error().sys == ECONNREFUSED);
  CHECK(away.error().text.find(": : ") == std::string::npos);
  server.start();
  CHECK(get_pod(client));
}

TEST_CASE("A server that is silent costs the patience and no more, before and within an answer") {
  std::atomic<int> kind{0};
  ApiServer server([&](const ServedRequest&, ServedAnswer& answer) {
    if (kind == 1) {
      answer.begin(200);
      answer.chunk("{\"kind\":");
    }
    answer.be_silent();
  });
  ApiClient client(server.access());
  client.set_patience(std::chrono::milliseconds(200));
  CHECK(get_pod(client).error().code == Errc::timeout);
  kind = 1;
  CHECK(get_pod(client).error().code == Errc::timeout);
}

TEST_CASE("A server that sends a byte now and then does not extend the patience") {
  ApiServer server([&](const ServedRequest&, ServedAnswer& answer) {
    answer.begin(200);
    for (int i = 0; i < 200; ++i) {
      answer.chunk(" ");
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    answer.end();
  });
  ApiClient client(server.access());
  client.set_patience(std::chrono::milliseconds(300));
  CHECK(get_pod(client).error().code == Errc::timeout);
}

TEST_CASE("A request to stop ends a call that waits") {
  std::atomic<bool> asked{false};
  ApiServer server([&](const ServedRequest&, ServedAnswer& answer) {
    asked = true;
    answer.be_silent();
  });
  std::stop_source stop;
  ApiClient client(server.access(), stop.get_token());
  client.set_patience(test::kForEver);
  std::thread other([&] {
    while (!asked) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    stop.request_stop();
  });
  const auto result = get_pod(client);
  other.join();
  REQUIRE(!result);
  CHECK(result.error().code == Errc::not_yet);
}

TEST_CASE("An answer that is cut, too large, or no JSON is an error with the request") {
  std::atomic<int> kind{0};
  ApiServer server([&](const ServedRequest&, ServedAnswer& answer) {
    switch (kind) {
      case 0:
        answer.begin(200);
        answer.chunk("{\"kind\":");
        return answer.cut();
      case 1:
        answer.begin(200);
        for (int i = 0; i < 300; ++i) answer.chunk(std::string(65536, ' '));
        return answer.end();
      case 2:
        return answer.reply(200, "{\"kind\": ");
      case 3:
        return answer.reply(200, "[]");
      case 4:
        answer.raw("HTTP/1.1 200 OK\r\nX: " + std::string(70'000, 'a') + "\r\n\r\n");
        return answer.cut();
      default:
        answer.raw("SSH-2.0-OpenSSH\r\n");
        return answer.cut();
    }
  });
  ApiClient client(server.access());
  for (kind = 0; kind < 6; ++kind) {
    INFO(kind);
    const auto result = get_pod(client);
    REQUIRE(!result);
    CHECK_THAT(result.error().text, Catch::Contains("GET /api/v1/namespaces/default/pods/a"));
  }
}

TEST_CASE("A list comes in pages, whose objects have kind and version") {
  Seen seen;
  ApiServer server([&](const ServedRequest& request, ServedAnswer& answer) {
    seen.add(request);
    if (request.target.find("continue") == std::string::npos)
      return answer.reply(
          200,
          R"({"metadata":{"resourceVersion":"7","continue":"a b"},"items":[{"metadata":{"name":"a"}}]})");
    answer.reply(200, R"({"metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"b"}}]})");
  });
  ApiClient client(server.access());
  std::vector<std::string> names;
  const auto version = client.list(
      kPods, "", {.labels = "app=vfrail", .fields = "spec.nodeName=n"},
      [&](Json&& object) { names.push_back(name_of(object).name + *object.find("kind")->as_text()); });
  REQUIRE(version);
  CHECK(*version == "7");
  CHECK(names == std::vector<std::string>{"aPod", "bPod"});
  REQUIRE(seen.all().size() == 2);
  CHECK(seen.all()[0].target ==
        "/api/v1/pods?limit=100&labelSelector=app%3Dvfrail&fieldSelector=spec.nodeName%3Dn");
  CHECK_THAT(seen.all()[1].target, Catch::EndsWith("&continue=a%20b"));
}

TEST_CASE("A list of which the server has forgotten the rest begins again, once") {
  std::atomic<int> expired{0};
  std::atomic<int> allowed{1};
  ApiServer server([&](const ServedRequest& request, ServedAnswer& answer) {
    if (request.target.find("continue") != std::string::npos && expired < allowed) {
      ++expired;
      return answer.reply(410, status_text(410, "Expired", "the continue token is too old"));
    }
    const bool last = request.target.find("continue") != std::string::npos;
    answer.reply(200, std::string(R"({"metadata":{"resourceVersion":"7")") +
                          (last ? "" : R"(,"continue":"x")") + R"(},"items":[{"metadata":{"name":"a"}}]})");
  });
  ApiClient client(server.access());
  int objects = 0;
  const auto list = [&] {
    objects = 0;
    expired = 0;
    return client.list(
        kPods, "", {}, [&](Json&&) { ++objects; }, [&] { objects = 0; });
  };
  CHECK(list());
  CHECK(objects == 2);
  allowed = 2;
  CHECK(list().error().sys == 410);
}

TEST_CASE("A list that never ends, or has no items, is an error") {
  ApiServer server(always(200, R"({"metadata":{"resourceVersion":"7","continue":"x"},"items":[]})"));
  ApiClient client(server.access());
  CHECK_THAT(client.list(kPods, "", {}, [](Json&&) {}).error().text, Catch::Contains("does not end"));
  ApiServer other(always(200, R"({"metadata":{}})"));
  ApiClient second(other.access());
  CHECK_THAT(second.list(kPods, "", {}, [](Json&&) {}).error().text, Catch::Contains("no items"));
}

TEST_CASE("A server that asks for time gets it, a few times") {
  std::atomic<int> refusals{1};
  std::atomic<int> requests{0};
  ApiServer server([&](const ServedRequest&, ServedAnswer& answer) {
    ++requests;
    if (refusals-- > 0)
      return answer.reply(429, status_text(429, "TooManyRequests", "later"), {"Retry-After: 0"});
    answer.reply(200, kPod);
  });
  ApiClient client(server.access());
  CHECK(get_pod(client));
  CHECK(requests == 2);
  requests = 0;
  refusals = 100;
  CHECK(get_pod(client).error().sys == 429);
  CHECK(requests == 4);
}

TEST_CASE("Writes have the verb, the manager and the type of server-side apply") {
  Seen seen;
  ApiServer server([&](const ServedRequest& request, ServedAnswer& answer) {
    seen.add(request);
    answer.reply(200, kPod);
  });
  ApiClient client(server.access());
  const Json object = *Json::parse(kPod);
  CHECK(client.create(kPods, "default", object));
  CHECK(client.apply(kPods, {"default", "a"}, object, {.manager = "vfrail", .subresource = "status"}));
  CHECK(client.remove(kPods, {"default", "a"}, "u1"));
  const auto all = seen.all();
  REQUIRE(all.size() == 3);
  CHECK(all[0].method + " " + all[0].target == "POST /api/v1/namespaces/default/pods?fieldManager=vfrail");
  CHECK(all[0].content_type == "application/json");
  CHECK(all[1].method + " " + all[1].target ==
        "PATCH /api/v1/namespaces/default/pods/a/status?fieldManager=vfrail&force=true");
  CHECK(all[1].content_type == "application/apply-patch+yaml");
  CHECK(all[2].method == "DELETE");
  CHECK_THAT(all[2].body, Catch::Contains(R"("preconditions":{"uid":"u1"})"));
}

TEST_CASE("A creation whose answer is lost is not repeated, a replacement is") {
  std::atomic<int> requests{0};
  std::atomic<bool> cutting{false};
  ApiServer server([&](const ServedRequest&, ServedAnswer& answer) {
    ++requests;
    if (cutting.exchange(false)) return answer.cut();
    answer.reply(200, kPod);
  });
  ApiClient client(server.access());
  const Json object = *Json::parse(kPod);
  REQUIRE(get_pod(client));
  cutting = true;
  CHECK(!client.create(kPods, "default", object));
  CHECK(requests == 2);
  REQUIRE(get_pod(client));
  cutting = true;
  CHECK(client.replace(kPods, {"default", "a"}, object));
  CHECK(requests == 5);
}

TEST_CASE("An object is created although the server ended the kept connection meanwhile") {
  ApiServer server(always(200, kPod));
  ApiClient client(server.access());
  REQUIRE(get_pod(client));
  server.end_connections();
  CHECK(client.create(kPods, "default", *Json::parse(kPod)));
  CHECK(server.connections() == 2);
}

TEST_CASE("An answer that is cut once is asked for again at once, but that of a creation") {
  std::atomic<int> requests{0};
  std::atomic<bool> cutting{true};
  ApiServer server([&](const ServedRequest&, ServedAnswer& answer) {
    ++requests;
    if (!cutting.exchange(false)) return answer.reply(200, kPod);
    answer.begin(200);
    answer.chunk("{\"kind\":");
    answer.cut();
  });
  ApiClient client(server.access());
  CHECK(get_pod(client));
  CHECK(requests == 2);
  cutting = true;
  CHECK(client.replace(kPods, {"default", "a"}, *Json::parse(kPod)));
  CHECK(requests == 4);
  cutting = true;
  CHECK(!client.create(kPods, "default", *Json::parse(kPod)));
  CHECK(requests == 5);
}

TEST_CASE("What a path cannot have is escaped in it") {
  CHECK(path_of(kPods, {"a/../b", "c?d"}) == "/api/v1/namespaces/a%2F..%2Fb/pods/c%3Fd");
  CHECK(path_of(kHostDeviceNetworks, {"", "net"}) == "/apis/mellanox.com/v1alpha1/hostdevicenetworks/net");
  CHECK(path_of(kPods, {}) == "/api/v1/pods");
}

}  // namespace vfrail::kube

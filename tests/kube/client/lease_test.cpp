// plugin/kube/client/lease.h and event_recorder.h, against a server that keeps one object.
#include "plugin/kube/client/lease.h"

#include "plugin/kube/access/api_time.h"
#include "plugin/kube/client/event_recorder.h"
#include "tests/kube/api_server.h"

#include <mutex>

#include <catch2/catch.hpp>

namespace vfrail::kube {

namespace {

using std::chrono::seconds;

// Keeps one Lease as the API server does: a PUT with another resourceVersion is a conflict.
class LeaseServer {
 public:
  LeaseServer()
      : server_([this](const ServedRequest& request, ServedAnswer& answer) { serve(request, answer); }) {}
  ApiClient client() { return ApiClient(server_.access()); }
  Json lease() const {
    const std::lock_guard lock(mutex_);
    return lease_;
  }
  std::string holder() const {
    const Json now = lease();
    return now.is_null() ? "" : *now.find("spec")->find("holderIdentity")->as_text();
  }
  void refuse(unsigned status) { refusal_ = status; }

 private:
  void serve(const ServedRequest& request, ServedAnswer& answer) {
    const std::lock_guard lock(mutex_);
    if (refusal_ != 0) return answer.reply(refusal_, status_text(refusal_, "Said", "no"));
    if (request.method == "GET") {
      if (lease_.is_null()) return answer.reply(404, status_text(404, "NotFound", "none"));
      return answer.reply(200, lease_.text());
    }
    Json wanted = *Json::parse(request.body);
    if (request.method == "POST" && !lease_.is_null())
      return answer.reply(409, status_text(409, "AlreadyExists", "there"));
    if (request.method == "PUT" && version_of(wanted) != version_of(lease_))
      return answer.reply(409, status_text(409, "Conflict", "modified"));
    Json metadata = *wanted.find("metadata");
    metadata.set("resourceVersion", std::to_string(++version_));
    wanted.set("metadata", std::move(metadata));
    lease_ = std::move(wanted);
    answer.reply(200, lease_.text());
  }

  mutable std::mutex mutex_;
  Json lease_;
  int version_ = 0;
  std::atomic<unsigned> refusal_{0};
  ApiServer server_;
};

const ObjectName kName{"vfrail-system", "vfrail-controller"};

}  // namespace

TEST_CASE(
    "The first of two takes the lease, keeps it by renewing, and the second gets it 15 s after the last "
    "renewal") {
  LeaseServer server;
  ApiClient client = server.client();
  Lease first(kName, "one");
  Lease second(kName, "two");
  auto now = Lease::Steady::now();
  CHECK(*first.turn(client, now));
  CHECK(!*second.turn(client, now));
  for (int i = 0; i < 10; ++i) {
    now += seconds(3);
    CHECK(*first.turn(client, now));
    CHECK(!*second.turn(client, now));
  }
  // The first has died.
  now += seconds(14);
  CHECK(!*second.turn(client, now));
  now += seconds(2);
  CHECK(*second.turn(client, now));
  CHECK(server.holder() == "two");
  CHECK(*server.lease().find("spec")->find("leaseTransitions")->as_int() == 2);
  CHECK(!*first.turn(client, now));
  CHECK(!first.held(now));
}

TEST_CASE("A lease that is released is taken at once") {
  LeaseServer server;
  ApiClient client = server.client();
  Lease first(kName, "one");
  Lease second(kName, "two");
  const auto now = Lease::Steady::now();
  CHECK(*first.turn(client, now));
  CHECK(!*second.turn(client, now));
  CHECK(first.release(client));
  CHECK(!first.held(now));
  CHECK(*second.turn(client, now + seconds(1)));
  CHECK(first.release(client));  // which is not its own any more
  CHECK(server.holder() == "two");
}

TEST_CASE(
    "While the server refuses, the lease is held for ten seconds, which is before another can take it") {
  LeaseServer server;
  ApiClient client = server.client();
  Lease first(kName, "one");
  const auto now = Lease::Steady::now();
  REQUIRE(*first.turn(client, now));
  server.refuse(500);
  CHECK(!first.turn(client, now + seconds(5)).ok());
  CHECK(first.held(now + seconds(9)));
  CHECK(!first.held(now + seconds(11)));
  CHECK(Lease::kGiveUp < Lease::kDuration);
}

TEST_CASE("Fields of others in a lease survive a renewal") {
  LeaseServer server;
  ApiClient client = server.client();
  Json foreign = *Json::parse(
      R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"l","labels":{"a":"b"}},"spec":{"strategy":"x"}})");
  REQUIRE(client.create(kLeases, "vfrail-system", foreign));
  Lease first(kName, "one");
  CHECK(*first.turn(client, Lease::Steady::now()));
  CHECK(*server.lease().find("metadata")->find("labels")->find("a")->as_text() == "b");
  CHECK(*server.lease().find("spec")->find("strategy")->as_text() == "x");
}

TEST_CASE("The same event about the same object is written once in five minutes") {
  std::mutex mutex;
  std::vector<ServedRequest> seen;
  ApiServer server([&](const ServedRequest& request, ServedAnswer& answer) {
    const std::lock_guard lock(mutex);
    seen.push_back(request);
    answer.reply(201, "{}");
  });
  ApiClient client(server.access());
  Log log;
  EventRecorder recorder("vfrail.io/controller", "pod-1", log);
  const Json network = *Json::parse(
      R"({"apiVersion":"mellanox.com/v1alpha1","kind":"HostDeviceNetwork","metadata":{"name":"net","uid":"u1"}})");
  const Event event{EventType::warning, "NoMultus", "Apply", std::string(1023, 'x') + "\xc3\xa4 and more"};
  const auto now = EventRecorder::Steady::now();
  recorder.record(client, network, event, now);
  recorder.record(client, network, event, now + seconds(299));
  CHECK(seen.size() == 1);
  recorder.record(client, network, event, now + seconds(301));
  CHECK(seen.size() == 2);
  CHECK(seen[0].target == "/apis/events.k8s.io/v1/namespaces/default/events?fieldManager=vfrail");
  const Json written = *Json::parse(seen[0].body);
  CHECK(*written.find("regarding")->find("uid")->as_text() == "u1");
  CHECK(*written.find("type")->as_text() == "Warning");
  CHECK(*written.find("note")->as_text() == std::string(1023, 'x'));  // no half character
}

TEST_CASE("An event that cannot be written is tried once, and the next one is written as ever") {
  std::atomic<int> requests{0};
  ApiServer server([&](const ServedRequest&, ServedAnswer& answer) {
    if (++requests > 1) return answer.reply(201, "{}");
    answer.reply(403, status_text(403, "Forbidden", "no"));
  });
  ApiClient client(server.access());
  Log log;
  EventRecorder recorder("vfrail.io/controller", "pod-1", log);
  const Json object = *Json::parse(R"({"metadata":{"name":"n","namespace":"d"}})");
  recorder.record(client, object, {.reason = "First"}, EventRecorder::Steady::now());
  CHECK(requests == 1);
  recorder.record(client, object, {.reason = "Second"}, EventRecorder::Steady::now());
  CHECK(requests == 2);
}

TEST_CASE("Times are written and read as the API has them") {
  const auto time = parse_api_time("2026-11-27T01:30:00.25Z");
  REQUIRE(time);
  CHECK(api_micro_time(*time) == "2026-11-27T01:30:00.250000Z");
  CHECK(api_time(*time) == "2026-11-27T01:30:00Z");
  CHECK(parse_api_time("2026-11-27T02:30:00.25+01:00") == time);
  for (const char* long_ago : {"0001-01-01T00:00:00Z", "1013-11-27T01:30:00Z", "1969-12-31T23:59:59Z"})
    CHECK(parse_api_time(long_ago) == ApiTime());
  for (const char* text : {"", "2026-11-27", "2026-11-27T01:30:00", "2026-13-27T01:30:00Z",
                           "2026-11-27T01:30:0xZ", "2026-11-27T01:30:00+1:00"}) {
    INFO(text);
    CHECK(!parse_api_time(text));
  }
}

}  // namespace vfrail::kube

// plugin/kube/client/object_watch.h: what is known of the cluster, whatever the API server does meanwhile.
#include "plugin/kube/client/object_watch.h"

#include "plugin/kube/client/pause.h"
#include "tests/kube/api_server.h"
#include "tests/support/deadline.h"

#include <deque>

#include <catch2/catch.hpp>

namespace vfrail::kube {

namespace {

using Names = std::vector<std::string>;

std::string object_text(const std::string& name, const std::string& version) {
  return R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":")" + name +
         R"(","namespace":"d","resourceVersion":")" + version +
         R"(","managedFields":[{"manager":"kubectl"}]}})";
}

std::string event_text(const std::string& type, const std::string& object) {
  return R"({"type":")" + type + R"(","object":)" + object + "}\n";
}

std::string list_text(const Names& names, const std::string& version) {
  std::string items;
  for (const std::string& name : names) items += (items.empty() ? "" : ",") + object_text(name, version);
  return R"({"metadata":{"resourceVersion":")" + version + R"("},"items":[)" + items + "]}";
}

// A server whose answers to watches are given one after another; after the last it is silent.
class Script {
 public:
  using Step = std::function<void(ServedAnswer&)>;

  explicit Script(Names listed) : listed_(std::move(listed)) {}
  void on_watch(Step step) {
    const std::lock_guard lock(mutex_);
    steps_.push_back(std::move(step));
  }
  void list_from_now(Names names, const std::string& version) {
    const std::lock_guard lock(mutex_);
    listed_ = std::move(names);
    version_ = version;
  }
  void refuse_lists(unsigned status) {
    const std::lock_guard lock(mutex_);
    refusal_ = status;
  }
  // "list", and "watch VERSION".
  Names requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }

  void serve(const ServedRequest& request, ServedAnswer& answer) {
    const bool is_watch = request.target.find("watch=1") != std::string::npos;
    Step step;
    {
      const std::lock_guard lock(mutex_);
      const size_t at = request.target.find("resourceVersion=");
      requests_.push_back(is_watch ? "watch " + request.target.substr(at + 16) : "list");
      if (!is_watch && refusal_ != 0) return answer.reply(refusal_, status_text(refusal_, "Said", "no"));
      if (!is_watch) return answer.reply(200, list_text(listed_, version_));
      if (!steps_.empty()) {
        step = std::move(steps_.front());
        steps_.pop_front();
      }
    }
    if (step) return step(answer);
    answer.begin(200);
    answer.be_silent();
  }

 private:
  mutable std::mutex mutex_;
  Names listed_;
  std::string version_ = "10";
  unsigned refusal_ = 0;
  Names requests_;
  std::deque<Step> steps_;
};

Names names_in(const ObjectWatch::View& view) {
  Names out;
  for (const auto& [name, object] : view.objects) out.push_back(name.name);
  return out;
}

// The watch of a script, until a view is as a test wants it.
class Watched {
 public:
  explicit Watched(Script& script, WatchOptions options = {.type = kPods})
      : server_(
            [&script](const ServedRequest& request, ServedAnswer& answer) { script.serve(request, answer); }),
        watch_(server_.access(), std::move(options), wakeup_) {}
  ApiServer& server() { return server_; }
  ObjectWatch::View view() const { return watch_.view(); }
  uint64_t changes() const { return watch_.changes(); }
  bool becomes(const std::function<bool(const ObjectWatch::View&)>& wanted) {
    const auto deadline = std::chrono::steady_clock::now() + test::kDeadline;
    while (!wanted(watch_.view())) {
      if (std::chrono::steady_clock::now() >= deadline) return false;
      wakeup_.wait_until(std::chrono::steady_clock::now() + std::chrono::milliseconds(50), {});
    }
    return true;
  }
  bool has(const Names& names) {
    return becomes([&](const ObjectWatch::View& view) { return view.complete && names_in(view) == names; });
  }

 private:
  ApiServer server_;
  Wakeup wakeup_;
  ObjectWatch watch_;
};

}  // namespace

TEST_CASE("Objects are listed, then followed: added, modified, deleted", "[threads]") {
  Script script({"a", "b"});
  script.on_watch([](ServedAnswer& answer) {
    answer.begin(200);
    answer.chunk(event_text("ADDED", object_text("c", "11")) + event_text("DELETED", object_text("a", "12")));
    answer.chunk(event_text("MODIFIED", object_text("b", "13")));
    answer.be_silent();
  });
  Watched watched(script);
  CHECK(watched.becomes([](const ObjectWatch::View& view) {
    const auto b = view.objects.find({"d", "b"});
    return b != view.objects.end() && version_of(*b->second) == "13";
  }));
  CHECK(watched.changes() == 4);  // the list, and each event
  CHECK(names_in(watched.view()) == Names{"b", "c"});
  CHECK(watched.view().objects.begin()->second->find("metadata")->find("managedFields") == nullptr);
}

TEST_CASE("An event that comes in pieces is one event", "[threads]") {
  Script script({});
  script.on_watch([](ServedAnswer& answer) {
    answer.begin(200);
    for (const char c : event_text("ADDED", object_text("a", "11"))) answer.chunk(std::string(1, c));
    answer.be_silent();
  });
  Watched watched(script);
  CHECK(watched.has({"a"}));
}

TEST_CASE("After the end of a watch the next begins at the last version, of a bookmark too, without a list",
          "[threads]") {
  Script script({"a"});
  script.on_watch([](ServedAnswer& answer) {
    answer.begin(200);
    answer.chunk(event_text("BOOKMARK", R"({"kind":"Pod","metadata":{"resourceVersion":"40"}})"));
    answer.end();
  });
  script.on_watch([](ServedAnswer& answer) {
    answer.begin(200);
    answer.chunk(event_text("ADDED", object_text("b", "41")));
    answer.be_silent();
  });
  Watched watched(script);
  CHECK(watched.has({"a", "b"}));
  CHECK(script.requests() == Names{"list", "watch 10", "watch 40"});
}

TEST_CASE("A version that the server has forgotten leads to a new list, by status or within the stream",
          "[threads]") {
  for (const bool in_stream : {false, true}) {
    INFO(in_stream);
    Script script({"a"});
    script.on_watch([&](ServedAnswer& answer) {
      script.list_from_now({"z"}, "90");
      if (!in_stream) return answer.reply(410, status_text(410, "Expired", "too old"));
      answer.begin(200);
      answer.chunk(event_text("ERROR", status_text(410, "Expired", "too old")));
      answer.end();
    });
    Watched watched(script);
    CHECK(watched.has({"z"}));
    CHECK(script.requests().size() >= 3);
    CHECK(script.requests()[2] == "list");
  }
}

TEST_CASE("A connection that is cut within an event loses none", "[threads]") {
  Script script({});
  script.on_watch([](ServedAnswer& answer) {
    answer.begin(200);
    answer.chunk(event_text("ADDED", object_text("a", "11")) + R"({"type":"ADD)");
    answer.cut();
  });
  script.on_watch([](ServedAnswer& answer) {
    answer.begin(200);
    answer.chunk(event_text("ADDED", object_text("b", "12")));
    answer.be_silent();
  });
  Watched watched(script);
  CHECK(watched.has({"a", "b"}));
  CHECK(script.requests() == Names{"list", "watch 10", "watch 11"});
}

TEST_CASE("While the server refuses, the last view stays, with the reason; then it is right again",
          "[threads]") {
  Script script({"a"});
  std::atomic<bool> cut{false};
  script.on_watch([&](ServedAnswer& answer) {
    answer.begin(200);
    while (!cut) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    answer.chunk(event_text("ERROR", status_text(410, "Expired", "too old")));
    answer.end();
  });
  Watched watched(script);
  REQUIRE(watched.has({"a"}));
  script.refuse_lists(403);
  cut = true;
  CHECK(watched.becomes(
      [](const ObjectWatch::View& view) { return view.trouble && view.trouble->sys == 403; }));
  CHECK(names_in(watched.view()) == Names{"a"});
  script.refuse_lists(0);
  script.list_from_now({"b"}, "99");
  CHECK(watched.has({"b"}));
  CHECK(!watched.view().trouble);
}

TEST_CASE("A kind that the cluster does not have is in no view until it comes", "[threads]") {
  Script script({"a"});
  script.refuse_lists(404);
  Watched watched(script);
  CHECK(watched.becomes([](const ObjectWatch::View& view) { return !view.complete && view.is_absent(); }));
  script.refuse_lists(0);
  CHECK(watched.has({"a"}));
}

TEST_CASE("A token that cannot be found is not a kind that is absent") {
  ApiServer server([](const ServedRequest&, ServedAnswer& answer) { answer.be_silent(); });
  ClusterAccess access = server.access();
  access.token = {"/nonexistent/token", ""};
  Wakeup wakeup;
  const ObjectWatch watch(access, {.type = kPods}, wakeup);
  const auto deadline = std::chrono::steady_clock::now() + test::kDeadline;
  while (!watch.view().trouble && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  REQUIRE(watch.view().trouble);
  CHECK(watch.view().trouble->code == Errc::not_found);
  CHECK(!watch.view().is_absent());
}

TEST_CASE("A server that restarts is followed again", "[threads]") {
  Script script({"a"});
  Watched watched(script);
  REQUIRE(watched.has({"a"}));
  watched.server().stop();
  watched.server().end_connections();
  CHECK(watched.becomes([](const ObjectWatch::View& view) { return view.trouble.has_value(); }));
  script.on_watch([](ServedAnswer& answer) {
    answer.begin(200);
    answer.chunk(event_text("ADDED", object_text("b", "11")));
    answer.be_silent();
  });
  watched.server().start();
  CHECK(watched.has({"a", "b"}));
}

TEST_CASE("What is no event ends a watch, and the next follows after a pause", "[threads]") {
  Script script({"a"});
  for (const char* text : {"not json\n", "{}\n",
                           R"({"type":"ADDED","object":7})"
                           "\n"}) {
    script.on_watch([text](ServedAnswer& answer) {
      answer.begin(200);
      answer.chunk(text);
      answer.be_silent();
    });
  }
  script.on_watch([](ServedAnswer& answer) {
    answer.begin(200);
    answer.chunk(event_text("ADDED", object_text("b", "11")));
    answer.be_silent();
  });
  Watched watched(script);
  CHECK(watched.has({"a", "b"}));
}

TEST_CASE("Of an object what is needed can be kept alone, or nothing", "[threads]") {
  Script script({"a", "b"});
  Watched watched(script, {.type = kPods, .keep = [](Json&& object) {
                             if (name_of(object).name == "b") return Json();
                             Json out = Json::object();
                             out.set("only", 1);
                             return out;
                           }});
  CHECK(watched.has({"a"}));
  CHECK(watched.view().objects.begin()->second->text() == R"({"only":1})");
}

}  // namespace vfrail::kube

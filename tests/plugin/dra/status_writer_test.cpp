#include "plugin/dra/status_writer.h"

#include "tests/support/deadline.h"
#include "tests/support/temp_dir.h"

#include <fstream>
#include <functional>
#include <iterator>
#include <mutex>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;

namespace {

// Notes what is written.
class FakeApi final : public ApiAgent {
 public:
  Result<std::optional<Json>> claim(const ClaimName&) override { return std::optional<Json>(); }
  Result<> set_status(const ClaimName& name, const Json& devices) override {
    const std::lock_guard lock(mutex_);
    ++calls_;
    if (failure_ && calls_ <= last_failure_) return *failure_;
    written_.push_back(name.uid + " " + devices.text());
    return {};
  }
  // So many times from the first call on.
  void fail_with(std::optional<Error> failure, int times = 1'000'000) {
    const std::lock_guard lock(mutex_);
    failure_ = std::move(failure);
    last_failure_ = times;
  }
  std::vector<std::string> written() const {
    const std::lock_guard lock(mutex_);
    return written_;
  }
  int calls() const {
    const std::lock_guard lock(mutex_);
    return calls_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> written_;
  std::optional<Error> failure_;
  int calls_ = 0;
  int last_failure_ = 0;
};

bool eventually(const std::function<bool()>& wanted) {
  const auto end = std::chrono::steady_clock::now() + test::kDeadline;
  while (!wanted()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  return true;
}

struct WrittenNode {
  WrittenNode() {
    REQUIRE(log.open_file(folder.path("log")));
    writer.start();
  }
  // The statuses of all claims of the node.
  void put(const std::map<std::string, std::string>& devices) {
    std::map<std::string, ClaimStatus> all;
    for (const auto& [uid, text] : devices)
      all.emplace(uid, ClaimStatus{{"default", "c", uid}, *Json::parse(text)});
    writer.put(all);
  }
  bool eventually_written(const std::vector<std::string>& wanted) const {
    return eventually([&] { return api.written() == wanted; });
  }
  std::string log_text() const {
    std::ifstream in(folder.path("log"));
    return {std::istreambuf_iterator<char>(in), {}};
  }

  test::TempDir folder;
  Log log;
  FakeApi api;
  StatusWriter writer{{.interval = std::chrono::milliseconds{1},
                       .retry = std::chrono::milliseconds{1},
                       .retry_most = std::chrono::milliseconds{4}},
                      api,
                      log};
};

}  // namespace

TEST_CASE(
    "of claims that were there at the start the status is written, of later ones when there is something") {
  WrittenNode node;
  node.put({{"old", "[]"}});
  REQUIRE(node.eventually_written({"old []"}));
  node.put({{"old", "[]"}, {"new", "[]"}});
  node.put({{"old", "[]"}, {"new", "[1]"}});
  REQUIRE(node.eventually_written({"old []", "new [1]"}));
  node.put({{"new", "[]"}});  // detached
  REQUIRE(node.eventually_written({"old []", "new [1]", "new []"}));
  node.put({{"new", "[]"}});
  node.put({});
  node.put({{"again", "[2]"}});
  CHECK(node.eventually_written({"old []", "new [1]", "new []", "again [2]"}));
}

TEST_CASE("while vfrail-kube starts a status waits, and nothing is logged") {
  WrittenNode node;
  node.api.fail_with(Error{Errc::busy, 0, "vfrail-kube is not reached"}, 4);
  node.put({{"a", "[1]"}});
  REQUIRE(node.eventually_written({"a [1]"}));
  CHECK(node.log_text().empty());
}

TEST_CASE("a status that cannot be written is tried again, and logged once") {
  WrittenNode node;
  node.api.fail_with(Error{Errc::busy, 0, "the API server is away"});
  node.put({{"a", "[1]"}});
  REQUIRE(eventually([&] { return node.api.calls() > 6; }));
  node.put({{"a", "[2]"}});  // of several states the last is written
  node.api.fail_with({});
  REQUIRE(node.eventually_written({"a [2]"}));
  const std::string log = node.log_text();
  const size_t first = log.find("the API server is away");
  CHECK(first != std::string::npos);
  CHECK(log.find("the API server is away", first + 1) == std::string::npos);
}

TEST_CASE("the status of a claim that is gone is not tried again") {
  WrittenNode node;
  node.api.fail_with(Error{Errc::not_found, 0, "is not there"});
  node.put({{"gone", "[1]"}});
  REQUIRE(eventually([&] { return node.api.calls() == 1; }));
  node.api.fail_with({});
  node.put({{"gone", "[1]"}, {"there", "[2]"}});
  CHECK(node.eventually_written({"there [2]"}));
  CHECK(node.log_text().find("cannot be written") == std::string::npos);
}

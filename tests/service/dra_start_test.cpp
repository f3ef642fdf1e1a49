// The minute after a boot: kubelet asks for claims while vfrail-kube is still starting. A daemon with the
// front ends of kubelet and of claims, kubelet's pod-resources, and an agent that comes late.
#include "common/files.h"
#include "plugin/service/daemon.h"
#include "plugin/service/dra/offer_publisher.h"
#include "plugin/service/kubelet/kubelet_publisher.h"
#include "tests/kubelet/pod_resources_server.h"
#include "tests/service/dra_node.h"
#include "tests/service/fake_agent.h"
#include "tests/support/deadline.h"

#include <atomic>
#include <future>
#include <mutex>
#include <thread>

#include <catch2/catch.hpp>

namespace vfrail::test {
using namespace plugin;
using std::chrono::milliseconds;

namespace {

// kubelet's folders are those of the DraNode.
class Daemons {
 public:
  Daemons(DraNode& dra, milliseconds patience)
      : config_(any_config(dra.node.path("config.json"))),
        shared_(dra.node.run_dir(), log_),
        kubelet_({.kubelet_root = dra.node.path("kubelet"),
                  .registration = Registration::watcher,
                  .places = dra.node.places(),
                  .stream_patience = milliseconds{50},
                  .serves = [](const ResourceConfig&) { return false; }},
                 log_),
        offer_({.offer = {},
                .socket = dra.node.path("agent.sock"),
                .run_dir = dra.node.run_dir(),
                .first_ask_interval = milliseconds{20}},
               shared_, log_),
        claims_(claims_of(dra, patience), dra.api, log_),
        daemon_({.publishers = {&kubelet_, &offer_, &claims_},
                 .rescan_interval = std::chrono::hours{1},
                 .cni_state_dir = dra.node.path("cni"),
                 .read_pools =
                     [&dra](const Config&, const Changed&) {
                       Pools out;
                       out.pools = {dra.pool};
                       return Result<Pools>(std::move(out));
                     },
                 .config = config_},
                log_) {
    (void)log_.open_file(dra.node.path("log"));
    thread_ = std::thread([this] { (void)daemon_.run(); });
  }
  Daemons(const Daemons&) = delete;
  Daemons& operator=(const Daemons&) = delete;
  ~Daemons() { stop(); }

  void stop() {
    daemon_.stop();
    if (thread_.joinable()) thread_.join();
  }

 private:
  DraPublisher::Options claims_of(DraNode& dra, milliseconds patience) const {
    DraPublisher::Options out = dra.options();
    out.node_pool = [this] { return offer_.node_pool(); };
    out.node_pool_patience = patience;
    return out;
  }

  Log log_;
  ConfigSource config_;
  SharedSwitch shared_;
  KubeletPublisher kubelet_;
  OfferPublisher offer_;
  DraPublisher claims_;
  Daemon daemon_;
  std::thread thread_;
};

// After a boot: nothing of vfrail runs yet.
struct Boot {
  Boot() { dra.publisher.reset(); }

  bool serves() const {
    return eventually([&] { return std::filesystem::exists(dra.plugin_socket()); });
  }
  size_t waiting() const {
    const std::string log = read_text(dra.node.path("log"));
    size_t out = 0;
    for (size_t at = 0; (at = log.find("claim waits until vfrail-kube", at)) != std::string::npos; ++at)
      ++out;
    return out;
  }

  DraNode dra;
  PodResourcesServer kubelet{dra.node.path("kubelet")};
};

// Each in a call of its own, as kubelet prepares pods.
std::vector<std::future<std::string>> prepare_each(const DraNode& dra, const Texts& uids) {
  std::vector<std::future<std::string>> out;
  for (const std::string& uid : uids)
    out.push_back(
        std::async(std::launch::async, [&dra, uid] { return dra.prepare({uid}).claims().at(uid).error(); }));
  return out;
}

}  // namespace

TEST_CASE("claims that kubelet asks for before vfrail-kube has started are prepared when it has") {
  Boot boot;
  DraNode& dra = boot.dra;
  // More than there are threads for claims.
  Texts uids;
  for (const char* device :
       {"0000-21-10-0", "0000-21-10-2", "0000-21-10-4", "0000-21-10-6", "0000-41-10-0", "0000-41-10-2"}) {
    uids.push_back("pod-" + std::to_string(uids.size()));
    dra.api.put(uids.back(), {{"nic", {device}}});
  }
  REQUIRE(uids.size() > ClaimWorkers::kThreads);
  const Daemons daemons(dra, kForEver);
  REQUIRE(boot.serves());
  auto calls = prepare_each(dra, uids);
  REQUIRE(eventually([&] { return boot.waiting() == uids.size(); }));
  // Nobody else waits with them.
  CHECK(dra.unprepare("of-another-pod").empty());
  CHECK(has(dra.refusal("../../etc/passwd"), "must be a uid"));
  CHECK(dra.api.calls() == 0);
  FakeAgent agent(dra.node.path("agent.sock"));
  agent.set(true, true);
  for (auto& call : calls) CHECK(call.get().empty());
  CHECK(list_claims(dra.node.run_dir())->size() == uids.size());
}

TEST_CASE("a claim that is prepared is answered again before vfrail-kube has started") {
  Boot boot;
  boot.dra.api.put(kUid, kNic);
  boot.dra.start();
  const auto first = boot.dra.prepare({kUid});
  boot.dra.publisher.reset();
  const Daemons daemons(boot.dra, kForEver);
  REQUIRE(boot.serves());
  CHECK(boot.dra.prepare({kUid}).SerializeAsString() == first.SerializeAsString());
  CHECK(boot.waiting() == 0);
}

TEST_CASE("a claim is refused when vfrail-kube has not come in time") {
  Boot boot;
  boot.dra.api.put(kUid, kNic);
  const Daemons daemons(boot.dra, milliseconds{50});
  REQUIRE(boot.serves());
  CHECK(has(boot.dra.refusal(), "the name of this node's pool is not known yet"));
  CHECK(boot.waiting() == 1);
  CHECK(boot.dra.api.calls() == 0);
}

TEST_CASE("the end of serve does not wait for claims that wait for vfrail-kube") {
  Boot boot;
  boot.dra.api.put(kUid, kNic);
  Daemons daemons(boot.dra, kForEver);
  REQUIRE(boot.serves());
  auto calls = prepare_each(boot.dra, {kUid});
  REQUIRE(eventually([&] { return boot.waiting() == 1; }));
  daemons.stop();
  CHECK(has(calls.front().get(), "vfrail serve is stopping"));
}

TEST_CASE("work waits without a thread, and what is about the same claim waits behind it") {
  ClaimWorkers workers;
  std::atomic<bool> come = false;
  std::mutex mutex;
  Texts done;
  const auto work = [&](const std::string& name) {
    return [&, name](ClaimWorkers::Turn) {
      const std::lock_guard lock(mutex);
      done.push_back(name);
    };
  };
  const auto is_done = [&](const std::string& name) {
    const std::lock_guard lock(mutex);
    return std::find(done.begin(), done.end(), name) != done.end();
  };
  const ClaimWorkers::Wait wait{.is_over = [&] { return come.load(); },
                                .until = std::chrono::steady_clock::now() + kForEver};
  for (size_t i = 0; i < 2 * ClaimWorkers::kThreads; ++i)
    REQUIRE(workers.put("claim-" + std::to_string(i), work("waits"), wait));
  REQUIRE(workers.put("claim-0", work("behind")));
  REQUIRE(workers.put("other", work("other")));
  REQUIRE(eventually([&] { return is_done("other"); }));
  CHECK_FALSE(is_done("waits"));
  CHECK_FALSE(is_done("behind"));
  come = true;
  workers.check_waits();
  CHECK(eventually([&] { return is_done("behind"); }));
  workers.stop();
  CHECK(std::count(done.begin(), done.end(), "waits") == 2 * ClaimWorkers::kThreads);
}

}  // namespace vfrail::test

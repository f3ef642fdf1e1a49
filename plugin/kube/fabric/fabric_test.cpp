#include "plugin/kube/fabric/fabric_test.h"

#include "common/text.h"
#include "plugin/kube/client/api_client.h"
#include "plugin/kube/client/pause.h"
#include "plugin/kube/client/pod_exec.h"
#include "plugin/kube/fabric/rounds.h"
#include "plugin/kube/fabric/test_pods.h"

#include <algorithm>
#include <random>
#include <set>
#include <thread>

namespace vfrail::kube {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Say = std::function<void(const std::string&)>;
using Steady = std::chrono::steady_clock;

constexpr const char* kDaemonLabels =
    "app.kubernetes.io/name=vfrail,app.kubernetes.io/component=device-plugin";
constexpr seconds kPoll{1};
// For everything of a measurement but the writing: registering memory, connecting, two ways of each rail.
constexpr seconds kSetUp{30};
constexpr seconds kDeletion{30};
// A connection for each pair of a round; an API server has room for some hundreds of exec at a time.
constexpr size_t kMostAtOnce = 64;
// Each pair is measured: of 512 nodes 130,816 pairs in 511 rounds.
constexpr size_t kMostPods = 512;

std::string random_name() {
  std::random_device random;
  static constexpr char kLetters[] = "bcdfghjklmnpqrstvwxz2456789";
  std::string out;
  for (int i = 0; i < 6; ++i) out += kLetters[random() % (sizeof kLetters - 1)];
  return out;
}

class FabricTest {
 public:
  FabricTest(const ClusterAccess& access, const FabricOptions& options, const Say& say, std::stop_token stop)
      : access_(access), options_(options), say_(say), stop_(std::move(stop)), client_(access, stop_) {}

  Result<FabricReport> run() {
    TRY(prepare());
    auto result = measure();
    remove_pods();
    if (stop_.stop_requested())
      return Error{Errc::not_yet, 0, "interrupted; the pods of the test are deleted"};
    return result;
  }

 private:
  struct Member {
    Json pod;
    PodState state;
  };

  Result<> prepare();
  Result<> choose_network();
  Result<std::string> image_of_daemon();
  Result<std::vector<std::string>> choose_nodes();
  Result<FabricReport> measure();
  Result<> create_pods();
  Result<> await_pods();
  void remove_pods();
  std::vector<PairMeasurement> run_round(const Round& round);
  PairMeasurement run_pair(const Pair& pair);
  std::string node_of(size_t index) const { return nodes_[index]; }

  const ClusterAccess& access_;
  const FabricOptions& options_;
  const Say& say_;
  const std::stop_token stop_;
  ApiClient client_;
  TestPods pods_;
  std::vector<std::string> nodes_;
  std::vector<Member> members_;
};

Result<> FabricTest::choose_network() {
  if (!options_.network.empty() && !options_.resource.empty()) {
    pods_.resource = options_.resource;
    pods_.networks.assign(options_.units, options_.network);
    return {};
  }
  std::vector<Json> networks;
  std::set<std::string> resources;
  const auto listed = client_.list(kNetworkAttachmentDefinitions, "", {}, [&](Json&& network) {
    const std::string resource = resource_of_network(network);
    const bool wanted = options_.network.empty() || name_of(network).text() == options_.network;
    if (resource.empty() || !wanted) return;
    resources.insert(resource);
    networks.push_back(std::move(network));
  });
  pods_.resource = options_.resource;
  if (options_.host_network && !pods_.resource.empty()) return {};
  if (!listed) return listed.error();
  if (pods_.resource.empty()) {
    if (resources.size() != 1)
      return Error{Errc::invalid, 0,
                   resources.empty()
                       ? "no network is annotated with a resource: name one by --resource"
                       : "networks of several resources are there (" +
                             first_few({resources.begin(), resources.end()}) + "); choose one by --resource"};
    pods_.resource = *resources.begin();
  }
  pods_.networks.assign(options_.units, TRY(network_for(networks, pods_.resource, options_.name_space)));
  return {};
}

Result<std::string> FabricTest::image_of_daemon() {
  std::string image;
  TRY(client_.list(kPods, "", {.labels = kDaemonLabels}, [&](Json&& pod) {
    const Json* spec = pod.find("spec");
    const Json* containers = spec == nullptr ? nullptr : spec->find("containers");
    if (containers == nullptr || containers->as_array() == nullptr || containers->as_array()->empty()) return;
    const Json* text = containers->as_array()->front().find("image");
    if (text != nullptr && text->as_text() != nullptr) image = *text->as_text();
  }));
  if (!image.empty()) return image;
  return Error{Errc::not_found, 0,
               "no pod of vfrail is in the cluster (" + std::string(kDaemonLabels) +
                   "), whose image the test could use; name one by --image"};
}

Result<std::vector<std::string>> FabricTest::choose_nodes() {
  if (!options_.nodes.empty()) return options_.nodes;
  std::vector<std::string> out;
  TRY(client_.list(kNodes, "", {}, [&](Json&& node) {
    if (offers(node, pods_.resource, options_.units)) out.push_back(name_of(node).name);
  }));
  std::sort(out.begin(), out.end());
  return out;
}

Result<> FabricTest::prepare() {
  pods_.test = random_name();
  pods_.name_space = options_.name_space;
  pods_.units = options_.units;
  pods_.host_network = options_.host_network;
  TRY(choose_network());
  pods_.image = options_.image.empty() ? TRY(image_of_daemon()) : options_.image;
  nodes_ = TRY(choose_nodes());
  if (nodes_.size() > kMostPods)
    return Error{Errc::invalid, 0,
                 std::to_string(nodes_.size()) + " nodes are more than the " + std::to_string(kMostPods) +
                     " that one test takes: choose some by --nodes"};
  if (nodes_.size() >= 2) return {};
  return Error{
      Errc::not_found, 0,
      (nodes_.empty() ? std::string("no node offers ") : "only node " + nodes_.front() + " offers ") +
          std::to_string(options_.units) + " of " + pods_.resource +
          " and can be scheduled on: " + "a test needs two (`kubectl vfrail nodes` shows what there is)"};
}

Result<> FabricTest::create_pods() {
  for (size_t i = 0; i < nodes_.size(); ++i) {
    members_.push_back({test_pod(pods_, nodes_[i], i), {}});
    TRY(client_.create(kPods, pods_.name_space, members_.back().pod));
  }
  return {};
}

// Until each runs or will not, or the time is over.
Result<> FabricTest::await_pods() {
  const auto deadline = Steady::now() + options_.start_time;
  size_t ran_before = members_.size() + 1;
  for (;;) {
    TRY(client_.list(kPods, pods_.name_space, {.labels = std::string(kTestLabel) + "=" + pods_.test},
                     [&](Json&& pod) {
                       for (Member& member : members_) {
                         if (name_of(member.pod) == name_of(pod)) member.state = read_pod_state(pod);
                       }
                     }));
    const auto runs = static_cast<size_t>(
        std::count_if(members_.begin(), members_.end(), [](const Member& one) { return one.state.runs; }));
    const bool decided = std::all_of(members_.begin(), members_.end(), [](const Member& one) {
      return one.state.runs || !one.state.failed.empty();
    });
    if (runs != ran_before) say_(std::to_string(runs) + " of " + counted(members_.size(), "pod") + " run");
    ran_before = runs;
    if (decided || Steady::now() >= deadline) break;
    if (!pause_for(kPoll, stop_)) return Error{Errc::not_yet, 0, "interrupted"};
  }
  for (Member& member : members_) {
    PodState& state = member.state;
    if (state.runs || !state.failed.empty()) continue;
    state.failed = "not running after " + std::to_string(options_.start_time.count()) + " s" +
                   (state.waits.empty() ? "" : ": " + state.waits);
  }
  return {};
}

PairMeasurement FabricTest::run_pair(const Pair& pair) {
  PairMeasurement out{pair.first, pair.second};
  const auto rails = static_cast<int>(options_.units);
  PodCommand command;
  command.pod = name_of(members_[pair.first].pod);
  command.words = {kTestProgram, "--to",      members_[pair.second].state.address, "--test",
                   pods_.test,   "--seconds", std::to_string(options_.seconds),    "--output",
                   "json"};
  // Each rail alone, then all of them at once.
  command.time = (rails + 1) * (2 * seconds(options_.seconds) + kSetUp);
  const auto result = run_in_pod(access_, command, stop_);
  if (!result) {
    out.failed = result.error().text;
    return out;
  }
  auto rates = read_measurement(result->output);
  if (rates)
    out.rails = *std::move(rates);
  else
    out.failed =
        result->errors.empty() ? rates.error().text : "vfrail-check: " + result->errors.substr(0, 500);
  return out;
}

std::vector<PairMeasurement> FabricTest::run_round(const Round& round) {
  std::vector<PairMeasurement> out(round.size());
  std::atomic<size_t> next{0};
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < std::min(round.size(), kMostAtOnce); ++i)
      threads.emplace_back([&] {
        for (size_t at = next++; at < round.size(); at = next++) out[at] = run_pair(round[at]);
      });
  }
  return out;
}

Result<FabricReport> FabricTest::measure() {
  say_("test " + pods_.test + ": " + counted(nodes_.size(), "pod") + " with " + std::to_string(pods_.units) +
       " of " + pods_.resource + " each, namespace " + pods_.name_space + ", image " + pods_.image);
  TRY(create_pods());
  TRY(await_pods());
  FabricReport out;
  out.seconds = options_.seconds;
  std::vector<size_t> taking_part;
  for (size_t i = 0; i < members_.size(); ++i) {
    out.ends.push_back({node_of(i), name_of(members_[i].pod).text(), members_[i].state.failed});
    if (members_[i].state.runs) taking_part.push_back(i);
  }
  const auto rounds = all_pairs(taking_part.size());
  for (size_t i = 0; i < rounds.size() && !stop_.stop_requested(); ++i) {
    say_("round " + std::to_string(i + 1) + " of " + std::to_string(rounds.size()) + ": " +
         counted(rounds[i].size(), "pair"));
    Round round;
    for (const Pair& pair : rounds[i]) round.emplace_back(taking_part[pair.first], taking_part[pair.second]);
    for (PairMeasurement& one : run_round(round)) out.pairs.push_back(std::move(one));
  }
  out.findings = evaluate(out);
  return out;
}

// With a client of its own, which the request to stop does not end.
void FabricTest::remove_pods() {
  ApiClient client(access_);
  std::string left;
  const auto deadline = Steady::now() + kDeletion;
  for (const Member& member : members_) {
    const auto removed = client.remove(kPods, name_of(member.pod));
    if (!removed) left = removed.error().text;
  }
  for (size_t there = members_.size(); there > 0 && left.empty();) {
    there = 0;
    const auto listed =
        client.list(kPods, pods_.name_space, {.labels = std::string(kTestLabel) + "=" + pods_.test},
                    [&](Json&&) { ++there; });
    if (!listed) left = listed.error().text;
    if (there > 0 && Steady::now() >= deadline)
      left = counted(there, "pod") + " of the test are still terminating";
    if (there > 0 && left.empty()) std::this_thread::sleep_for(kPoll);
  }
  if (!left.empty())
    say_("not all is deleted: " + left + "; `kubectl delete pods -n " + pods_.name_space + " -l " +
         kTestLabel + "=" + pods_.test + "` deletes the rest");
}

}  // namespace

Result<FabricReport> test_fabric(const ClusterAccess& access, const FabricOptions& options, const Say& say,
                                 std::stop_token stop) {
  return FabricTest(access, options, say, std::move(stop)).run();
}

}  // namespace vfrail::kube

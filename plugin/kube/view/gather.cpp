#include "plugin/kube/view/gather.h"

#include "plugin/kube/view/traffic_page.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

namespace vfrail::kube {

namespace {

using Steady = std::chrono::steady_clock;

// Nodes that are asked at the same time. 500 nodes that do not answer at all take 500 / 16 * 5 s; those that
// answer, some tenths of a second each. The API server's own limit is 400 requests at a time.
constexpr size_t kMaxWorkers = 16;
// Fewer than these are not worth a connection more.
constexpr size_t kNodesOfWorker = 4;
// Of a node with a thousand VFs some MiB.
constexpr size_t kMaxPageBytes = 16 << 20;

enum class ListEnd : uint8_t { read, absent, failed };

// A gap instead of an error: the rest is of use without it.
ListEnd read_list(const ClusterReader& reader, const ResourceType& type, const Selectors& selectors,
                  ClusterFacts& facts, const ClusterReader::Each& each,
                  const std::function<void()>& restart) {
  const auto listed = reader.list(type, selectors, each, restart);
  if (listed) return ListEnd::read;
  restart();  // a part of a list is not shown as if it were all of it
  // A cluster without Multus or whereabouts does not have their kinds.
  if (listed.error().sys == 404) return ListEnd::absent;
  const bool refused = listed.error().sys == 401 || listed.error().sys == 403;
  facts.gaps.push_back({std::string(type.plural),
                        (refused ? "no right to list them: " : "cannot be listed: ") + listed.error().text});
  return ListEnd::failed;
}

void read_networks(const ClusterReader& reader, ClusterFacts& facts) {
  read_list(
      reader, kNetworkAttachmentDefinitions, {}, facts,
      [&](Json&& network) { facts.networks.push_back(read_cluster_network(network)); },
      [&] { facts.networks.clear(); });
  const bool uses_pools = std::any_of(
      facts.networks.begin(), facts.networks.end(),
      [](const ClusterNetwork& network) { return text_at(network.ipam, {"type"}) == "whereabouts"; });
  if (!uses_pools) return;  // nor does the user need the right to list them
  const ListEnd end = read_list(
      reader, kWhereaboutsPools, {}, facts,
      [&](Json&& pool) { facts.address_pools.push_back(read_address_pool(pool)); },
      [&] { facts.address_pools.clear(); });
  facts.knows_address_pools = end == ListEnd::read;
}

void read_objects(const ClusterReader& reader, ClusterFacts& facts) {
  read_list(
      reader, kNodes, {}, facts, [&](Json&& node) { facts.nodes.push_back(read_cluster_node(node)); },
      [&] { facts.nodes.clear(); });
  // Those that have ended have their devices no longer.
  read_list(
      reader, kPods, {.labels = "", .fields = "status.phase!=Succeeded,status.phase!=Failed"}, facts,
      [&](Json&& pod) {
        if (auto kept = read_cluster_pod(pod)) facts.pods.push_back(*std::move(kept));
      },
      [&] { facts.pods.clear(); });
}

struct AskedNode {
  std::string node;
  const ClusterPod* pod = nullptr;  // its vfrail
};

// During an update a node can have two: the one that is ready answers.
std::vector<AskedNode> nodes_to_ask(const ClusterFacts& facts, const GatherPlan& plan) {
  std::map<std::string, const ClusterPod*> pods;
  for (const ClusterPod& pod : facts.pods) {
    if (!pod.is_vfrail || pod.node.empty() || (!plan.node.empty() && pod.node != plan.node)) continue;
    const ClusterPod*& of_node = pods[pod.node];
    if (of_node == nullptr || (pod.ready && !of_node->ready)) of_node = &pod;
  }
  std::vector<AskedNode> out;
  for (const auto& [node, pod] : pods) out.push_back({node, pod});
  return out;
}

std::string proxy_path(const ClusterPod& pod, const char* page) {
  return path_of(kPods, {pod.name.name_space, ""}) + "/http:" + url_escape(pod.name.name) + ":" +
         std::to_string(pod.port) + "/proxy/" + page;
}

// The counters were read somewhere between the question and the answer.
Result<TrafficPage> ask_traffic(const ClusterReader& reader, const ClusterPod& pod) {
  const auto begin = Steady::now();
  const std::string text = TRY(reader.page(proxy_path(pod, "metrics")), "no answer");
  return read_traffic_page(text, begin + (Steady::now() - begin) / 2);
}

Result<Json> ask_node(const ClusterReader& reader, const ClusterPod& pod, GatherPlan::Page page) {
  if (pod.phase != "Running")
    return Error{Errc::not_yet, 0, "its vfrail, pod " + pod.name.text() + ", is " + pod.phase};
  if (pod.port == 0)
    return Error{
        Errc::not_found, 0,
        "its vfrail, pod " + pod.name.text() + ", serves no pages: metrics.enabled=false in the chart"};
  auto text = reader.page(proxy_path(pod, page == GatherPlan::Page::doctor ? "doctor" : "inspect"));
  if (!text && text.error().sys == 404)
    return Error{Errc::unsupported, 0,
                 "its vfrail serves no such page, with metrics.enabled=false in the chart or of an older "
                 "version: " +
                     text.error().text};
  if (!text && text.error().sys == 403)
    return Error{Errc::denied, 0, "no right to ask it, which takes get on pods/proxy: " + text.error().text};
  if (!text) return std::move(text.error()).in("no answer");
  return TRY(Json::parse_object(*text, kMaxPageBytes), "its answer is not a page of vfrail");
}

struct NodeAnswer {
  Result<Json> page = Error{};
  std::optional<Result<TrafficPage>> before, now;  // if its page has come and its traffic is asked for
};

void keep(const std::string& node, NodeAnswer&& answer, ClusterFacts& facts) {
  if (!answer.page) return facts.gaps.push_back({node, answer.page.error().text});
  facts.pages.push_back({node, *std::move(answer.page)});
  if (!answer.before) return;
  const Result<TrafficPage>& last = *(answer.now ? answer.now : answer.before);
  if (!last) return facts.gaps.push_back({node, "its traffic: " + last.error().text});
  facts.traffic.push_back({node, rates_between((*answer.before)->reading, last->reading)});
  for (const std::string& missing : last->missing) facts.gaps.push_back({node, missing});
}

// Each worker takes the next node that none has asked; then those that it has asked once more.
void ask_nodes(const OpenReader& open, const GatherPlan& plan, ClusterFacts& facts) {
  const std::vector<AskedNode> nodes = nodes_to_ask(facts, plan);
  std::vector<NodeAnswer> answers(nodes.size());
  std::atomic<size_t> next{0};
  const auto work = [&] {
    const ClusterReader reader = open();
    std::vector<size_t> again;
    for (size_t i = next++; i < nodes.size(); i = next++) {
      NodeAnswer& answer = answers[i];
      answer.page = ask_node(reader, *nodes[i].pod, plan.page);
      if (!answer.page || !plan.traffic) continue;
      answer.before = ask_traffic(reader, *nodes[i].pod);
      if (*answer.before) again.push_back(i);
    }
    for (const size_t i : again) {
      std::this_thread::sleep_until((*answers[i].before)->reading.time + *plan.traffic);
      answers[i].now = ask_traffic(reader, *nodes[i].pod);
    }
  };
  std::vector<std::jthread> workers;
  const size_t count = std::min(kMaxWorkers, (nodes.size() + kNodesOfWorker - 1) / kNodesOfWorker);
  for (size_t i = 0; i < count; ++i) workers.emplace_back(work);
  for (std::jthread& worker : workers) worker.join();
  for (size_t i = 0; i < nodes.size(); ++i) keep(nodes[i].node, std::move(answers[i]), facts);
}

}  // namespace

ClusterFacts gather(const OpenReader& open, const GatherPlan& plan) {
  ClusterFacts out;
  {
    const ClusterReader reader = open();
    read_objects(reader, out);
    if (plan.networks) read_networks(reader, out);
  }
  if (plan.page != GatherPlan::Page::none) ask_nodes(open, plan, out);
  return out;
}

OpenReader reader_of(const ClusterAccess& access) {
  return [access] {
    // Lists of a large cluster may take longer than a node's page.
    const auto lists = std::make_shared<ApiClient>(access);
    const auto pages = std::make_shared<ApiClient>(access);
    pages->set_patience(kNodePatience);
    return ClusterReader{
        .list = [lists](const ResourceType& type, const Selectors& selectors, const ClusterReader::Each& each,
                        const std::function<void()>& restart) -> Result<> {
          TRY(lists->list(type, "", selectors, each, restart));
          return {};
        },
        .page = [pages](const std::string& path) { return pages->page(path, kMaxPageBytes); }};
  };
}

}  // namespace vfrail::kube

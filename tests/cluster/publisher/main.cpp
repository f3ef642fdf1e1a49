// publish-slices: the API side of many nodes (NodeAgent of `vfrail-kube node`, unchanged) in one process, for
// tests/cluster/many_nodes. The cluster is that of $KUBECONFIG; nodes are node-00001 and so on.
//
//   publish-slices nodes FIRST LAST
//     creates the Node objects
//
//   publish-slices publish FIRST LAST DEVICES
//     agents, sixteen at a time, each until its devices are published
//
//   publish-slices stay FIRST LAST DEVICES
//     the agents of all of them, until standard input ends
//
//   publish-slices offer DEVICES healthy|unhealthy
//     prints the body of PUT /devices
#include "plugin/kube/access/cluster_access.h"
#include "plugin/kube/node/node_agent.h"
#include "tests/cluster/publisher/devices.h"

#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace vfrail::test {

namespace {

using kube::ClusterAccess;
using kube::NodeAgent;
using kube::PublishState;

// How many nodes are worked upon at once: of `publish` each has two connections.
constexpr size_t kPublishers = 16;
constexpr size_t kStarters = 64;
// An offer waits three seconds for its answer. Against hanging alone.
constexpr int kMostOffers = 200;

std::optional<size_t> number_of(const std::string& text) {
  size_t out = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return out;
}

struct Nodes {
  size_t first;
  size_t last;
};

std::string name_of_node(size_t number) {
  char out[32] = {};
  std::snprintf(out, sizeof out, "node-%05zu", number);
  return out;
}

// `work` for each node, on so many threads.
void for_each(Nodes nodes, size_t threads, const std::function<void(size_t)>& work) {
  std::atomic<size_t> next{nodes.first};
  std::vector<std::jthread> all;
  for (size_t i = 0; i < threads; ++i) {
    all.emplace_back([&] {
      for (size_t node = next++; node <= nodes.last; node = next++) work(node);
    });
  }
}

// What the agents of several nodes have done.
struct Sum {
  std::atomic<size_t> published{0};
  std::atomic<size_t> writes{0};
  std::atomic<size_t> slices{0};
  std::atomic<size_t> failures{0};

  int print(const char* what) const {
    std::printf("%s: %zu published, %zu slices, %zu writes, %zu failed\n", what, published.load(),
                slices.load(), writes.load(), failures.load());
    std::fflush(stdout);
    return failures == 0 ? 0 : 1;
  }
  void add(const std::string& node, const PublishState& state) {
    writes += state.writes;
    slices += state.slices;
    ++(state.published ? published : failures);
    if (!state.published) std::fprintf(stderr, "%s: %s\n", node.c_str(), state.reason.c_str());
  }
};

PublishState publish(NodeAgent& agent, const kube::DeviceOffer& offer) {
  PublishState out;
  for (int tries = 0; tries < kMostOffers && !out.published; ++tries) {
    if (tries > 0) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    out = agent.offer(offer);
  }
  return out;
}

kube::DeviceOffer offer_of(size_t devices) {
  return {"vfrail.io", {"nvidia.com/hostdev"}, node_devices(devices)};
}

// serve repeats its offer every 10 s, which the API server never sees; here it is made once.
std::unique_ptr<NodeAgent> start_agent(const ClusterAccess& access, size_t node, Log& log) {
  const kube::NodeAgentOptions options{
      .driver = "vfrail.io", .node = name_of_node(node), .silence = std::chrono::hours(24)};
  return std::make_unique<NodeAgent>(access, options, log);
}

int create_nodes(const ClusterAccess& access, Nodes nodes) {
  std::atomic<size_t> failures{0};
  for_each(nodes, kPublishers, [&](size_t number) {
    thread_local kube::ApiClient client(access);
    Json metadata = Json::object().set("name", name_of_node(number));
    Json node =
        Json::object().set("apiVersion", "v1").set("kind", "Node").set("metadata", std::move(metadata));
    const auto done = client.create(kube::kNodes, "", node);
    if (done) return;
    ++failures;
    std::fprintf(stderr, "%s\n", done.error().text.c_str());
  });
  return failures == 0 ? 0 : 1;
}

int publish_all(const ClusterAccess& access, Nodes nodes, size_t devices) {
  Log log;
  log.set_level(LogLevel::warning);
  const kube::DeviceOffer offer = offer_of(devices);
  Sum sum;
  for_each(nodes, kPublishers, [&](size_t node) {
    const auto agent = start_agent(access, node, log);
    sum.add(name_of_node(node), publish(*agent, offer));
  });
  return sum.print("published");
}

[[noreturn]] void stay(const ClusterAccess& access, Nodes nodes, size_t devices) {
  Log log;
  log.set_level(LogLevel::error);
  const kube::DeviceOffer offer = offer_of(devices);
  std::vector<std::unique_ptr<NodeAgent>> agents(nodes.last - nodes.first + 1);
  Sum sum;
  for_each(nodes, kStarters, [&](size_t node) {
    std::unique_ptr<NodeAgent>& agent = agents[node - nodes.first];
    agent = start_agent(access, node, log);
    sum.add(name_of_node(node), publish(*agent, offer));
  });
  sum.print("started");
  for (;;) ::pause();
}

int run(const std::vector<std::string>& words) {
  const std::string command = words.empty() ? "" : words[0];
  if (command == "offer" && words.size() == 3) {
    const FirstDevice first = words[2] == "unhealthy" ? FirstDevice::unhealthy : FirstDevice::healthy;
    std::printf("%s\n", offer_body(number_of(words[1]).value_or(0), first).text().c_str());
    return 0;
  }
  const auto first = number_of(words.size() > 1 ? words[1] : "");
  const auto last = number_of(words.size() > 2 ? words[2] : "");
  const auto devices = number_of(words.size() > 3 ? words[3] : "0");
  if (!first || !last || !devices || *first > *last) {
    std::fprintf(stderr, "usage: publish-slices nodes|publish|stay FIRST LAST [DEVICES]\n");
    return 2;
  }
  kube::AccessOptions environment;
  environment.environment = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  const auto access = kube::find_cluster(environment);
  if (!access) {
    std::fprintf(stderr, "publish-slices: %s\n", access.error().text.c_str());
    return 1;
  }
  const Nodes nodes{*first, *last};
  if (command == "nodes") return create_nodes(*access, nodes);
  if (command == "stay") stay(*access, nodes, *devices);
  return publish_all(*access, nodes, *devices);
}

}  // namespace

}  // namespace vfrail::test

int main(int count, char** arguments) { return vfrail::test::run({arguments + 1, arguments + count}); }

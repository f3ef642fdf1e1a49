// gather(): asks the API server for the objects of the view, and each node's vfrail, by the API server's
// proxy, for its page. What does not answer is a gap in the view, and never an error of the whole. Changes
// nothing.
#pragma once

#include "plugin/kube/client/api_client.h"
#include "plugin/kube/view/cluster_facts.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace vfrail::kube {

// What is asked: a client of the API in the program, answers of their own in tests. Belongs to one thread.
struct ClusterReader {
  using Each = std::function<void(Json&&)>;
  std::function<Result<>(const ResourceType&, const Selectors&, const Each&,
                         const std::function<void()>& restart)>
      list;
  std::function<Result<std::string>(const std::string& path)> page;
};
// Called by each thread that asks.
using OpenReader = std::function<ClusterReader()>;

inline constexpr ResourceType kWhereaboutsPools{"whereabouts.cni.cncf.io", "v1alpha1", "ippools", "IPPool"};

// How long one node may take for its page: it scans itself, and asks its kubelet.
inline constexpr std::chrono::milliseconds kNodePatience{5'000};

struct GatherPlan {
  enum class Page : uint8_t { none, inspect, doctor };
  Page page = Page::inspect;
  bool networks = true;   // with their address pools
  std::string node = {};  // its page alone; empty: those of all
  // What counts the traffic of devices is read twice, so long apart. No value: not at all.
  std::optional<std::chrono::milliseconds> traffic = {};
};

ClusterFacts gather(const OpenReader& open, const GatherPlan& plan);

// Readers that are clients of that cluster.
OpenReader reader_of(const ClusterAccess& access);

}  // namespace vfrail::kube

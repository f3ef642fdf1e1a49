// One configuration for nodes of several kinds, and which of them gets what by it. Pure.
#pragma once

#include "plugin/admin/plan/next_steps.h"
#include "plugin/admin/plan/plan.h"

#include <string>
#include <vector>

namespace vfrail::plugin {

// What a node has of a resource.
struct NodeResource {
  std::string node;  // "v100", the last folder of its root
  std::string resource;
  std::string way;  // "shared device"
  std::string why;
  size_t units = 0;
  size_t healthy_units = 0;
  std::vector<std::string> devices;
};

struct ClusterPlan {
  Json config;  // null: no node has RDMA devices for pods
  std::vector<NodeResource> resources;
  std::vector<std::string> without;  // nodes without one
  std::vector<std::string>
      warnings;               // where the common configuration selects other devices than the node's own
  std::vector<NextPod> pods;  // of each resource one
};

// The facts have the nodes' roots, one each.
ClusterPlan make_cluster_plan(std::vector<PlanFacts>& nodes);

std::string render_cluster_plan(const ClusterPlan& plan, const std::vector<std::string>& roots);
Json cluster_plan_json(const ClusterPlan& plan);

}  // namespace vfrail::plugin

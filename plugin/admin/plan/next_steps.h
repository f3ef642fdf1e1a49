// What follows a plan: how its configuration gets into the cluster, and the pod that uses it. Pure.
#pragma once

#include <string>
#include <vector>

namespace vfrail::plugin {

// A pod with a resource, on a node that has it.
struct NextPod {
  std::string resource;
  std::string root;  // empty: this node
  size_t gpus = 0;
};

// Lines for a shell. `roots`: of the nodes that were planned for; empty: this one.
std::string next_steps(const std::vector<NextPod>& pods, const std::vector<std::string>& roots);

}  // namespace vfrail::plugin

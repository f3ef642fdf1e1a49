// The parts of a pod that has devices of a resource: limits, networks, what RDMA needs of the container. They
// are the same in every kind of job. Pure.
#pragma once

#include "common/json.h"

#include <cstdint>
#include <string>
#include <vector>

namespace vfrail::plugin {

struct PodNeeds {
  std::vector<std::string> resources;  // "rdma/ib_pf"; a unit of each, or `units` of the only one
  uint32_t units = 1;
  uint32_t gpus = 0;
  std::vector<std::string> networks;  // one for each unit; none: no annotation
  bool host_network = false;          // RoCE of shared devices
  bool limit_lifted = false;          // the resource's `memlock` lets any user pin memory
  std::string claim_template = {};    // a ResourceClaimTemplate that has all of them; empty: by limits
};

struct ContainerText {
  std::string name;
  std::string image;
  std::vector<std::string> command;
};

// {"metadata": {"annotations": ...}, "spec": {...}}; without metadata where no network is needed.
Json pod_template(const PodNeeds& needs, const ContainerText& container);
// The container of such a pod that starts the others and has no device.
Json bare_template(const ContainerText& container, std::vector<std::string> args);
// Puts a key in front of the keys of `spec` in a pod template.
Json& with_spec(Json& pod, std::string_view key, Json value);

inline constexpr const char* kTorchImage = "nvcr.io/nvidia/pytorch:24.10-py3";
inline constexpr const char* kToolsImage = "registry.example.com/rdma-tools:1";

}  // namespace vfrail::plugin

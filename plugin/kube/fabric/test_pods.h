// The pods of a test of the fabric, as objects; and what is read of them and of the objects of the cluster
// that they need. Pure.
#pragma once

#include "common/json.h"
#include "common/result.h"
#include "plugin/kube/client/resource_type.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vfrail::kube {

// That each pod of a test has, with the test's name, so that one can find what a killed test has not deleted.
inline constexpr const char* kTestLabel = "vfrail.io/fabric-test";

// In vfrail's image.
inline constexpr const char* kTestProgram = "/usr/bin/vfrail-check";

struct TestPods {
  std::string test;  // its name: a DNS label
  std::string name_space;
  std::string image;
  std::string resource;
  uint32_t units = 1;  // of the resource for each pod
  std::vector<std::string> networks =
      {};  // "NAMESPACE/NAME", one for each unit; none: a resource without networks
  bool host_network = false;
};

// The pod of number `index` on that node. It listens until it is deleted, or for an hour.
Json test_pod(const TestPods& pods, const std::string& node, size_t index);

struct PodState {
  bool runs = false;
  std::string address;  // of the pod network
  std::string failed;   // why it will not run: its own reason, that of its container
  std::string waits;    // why it does not run yet, if anything says so
};
PodState read_pod_state(const Json& pod);

// Ready nodes that can be scheduled on and have at least `units` allocatable of the resource.
bool offers(const Json& node, const std::string& resource, uint32_t units);

// The resource that a NetworkAttachmentDefinition is annotated with; empty: none.
std::string resource_of_network(const Json& network);
// "NAMESPACE/NAME" of the only one of that resource, those of `name_space` first. Errc::not_found,
// Errc::invalid (several) with what to do.
Result<std::string> network_for(const std::vector<Json>& networks, const std::string& resource,
                                const std::string& name_space);

}  // namespace vfrail::kube

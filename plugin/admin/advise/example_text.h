// The text above an example: what the pod has and why, how memory is pinned, and how to test it. Pure.
#pragma once

#include "plugin/admin/advise/claim_template.h"
#include "plugin/admin/advise/example.h"
#include "plugin/admin/advise/jobs.h"
#include "plugin/admin/advise/node_share.h"

#include <string>
#include <vector>

namespace vfrail::plugin {

// Everything that an example is made of.
struct ExampleParts {
  const ExampleRequest& request;
  const JobKind& kind;
  std::vector<const ResourceConfig*> resources;  // at least one
  NodeShare node;
  PodNeeds needs;

  const ResourceConfig& first() const { return *resources.front(); }
  bool is_bundle() const { return first().unit == UnitKind::bundle; }
};

// A placeholder for the addresses of a rail: no fact of a node shows which are free.
std::string placeholder_range(size_t rail);

// What the network and the device class of a resource are called in examples: its name, as Kubernetes allows
// it.
std::string name_of_network(const ResourceConfig& resource);

// What the pod's claim asks for.
ClaimedDevices claimed_devices(const ExampleParts& parts);

// Lines of comments.
std::string example_text(const ExampleParts& parts);

}  // namespace vfrail::plugin

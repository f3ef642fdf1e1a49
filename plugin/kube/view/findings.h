// Findings: what `vfrail doctor` finds on all nodes, grouped, faults first. Pure.
#pragma once

#include "common/checks/check.h"
#include "plugin/kube/view/cluster_facts.h"
#include "plugin/kube/view/cluster_view.h"

#include <string>
#include <vector>

namespace vfrail::kube {

// The same text on several nodes.
struct SameFinding {
  std::string text;
  std::string remedy;
  std::vector<std::string> nodes;
};

struct FindingGroup {
  std::string id;  // "VF-N04"
  std::string name;
  Finding finding = Finding::fault;
  std::vector<SameFinding> findings;  // those of most nodes first

  size_t count_nodes() const;
};

struct ClusterFindings {
  std::vector<FindingGroup> groups;  // the worst first
  size_t nodes = 0;                  // that have answered
  const char* member = "node";       // or "pod": what `nodes` are
  std::vector<Gap> gaps;
};

// What is ok or not applicable is left out. The pages are those of `doctor`.
ClusterFindings group_findings(const ClusterFacts& facts, const ViewFilter& filter);

}  // namespace vfrail::kube

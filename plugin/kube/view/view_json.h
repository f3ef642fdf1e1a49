// The view for programs. Pure. A name that changes or goes makes another `schema_version`; one that comes
// does not.
#pragma once

#include "common/json.h"
#include "plugin/kube/view/cluster_view.h"
#include "plugin/kube/view/findings.h"

namespace vfrail::kube {

inline constexpr int kViewSchemaVersion = 1;

// Each with "gaps": what is not in the view, and why.
Json nodes_json(const ClusterView& view);
Json devices_json(const ClusterView& view);
Json pods_json(const ClusterView& view);
Json networks_json(const ClusterView& view);
Json findings_json(const ClusterFindings& findings);

}  // namespace vfrail::kube

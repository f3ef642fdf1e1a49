#include "cni/in_pod/checks/pod_check.h"

#include <algorithm>

namespace vfrail::pod {

std::vector<Rail> CheckedPod::own_rails() const {
  std::vector<Rail> out;
  if (!rails) return out;
  std::copy_if(rails->begin(), rails->end(), std::back_inserter(out),
               [](const Rail& rail) { return rail.has_node; });
  return out;
}

const DescribedInterface* CheckedPod::attachment_of(const Rail& rail) const {
  if (!file || !*file) return nullptr;
  const auto& all = (*file)->interfaces;
  const auto at = std::find_if(all.begin(), all.end(),
                               [&](const DescribedInterface& one) { return one.rdma == rail.name; });
  return at == all.end() ? nullptr : &*at;
}

const VerbsProbe* CheckedPod::find_verbs_probe(const std::string& device) const {
  if (!probes) return nullptr;
  const auto at = std::find_if(probes->verbs.begin(), probes->verbs.end(),
                               [&](const VerbsProbe& one) { return one.device == device; });
  return at == probes->verbs.end() ? nullptr : &*at;
}

std::string shown_rail(const Rail& rail) {
  return rail.name + (rail.netdevs.empty() ? "" : " (" + rail.netdevs.front() + ")");
}

}  // namespace vfrail::pod

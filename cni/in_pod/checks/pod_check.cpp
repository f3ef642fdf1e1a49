#include "cni/in_pod/checks/pod_check.h"

#include "cni/in_pod/facts/gpus.h"

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

std::string lacks_rails(const CheckedPod& pod) {
  return pod.own_rails().empty() ? "no RDMA device that programs of this pod can use" : "";
}

std::string lacks_rail_pair(const CheckedPod& pod) {
  return pod.own_rails().size() < 2 ? "not two rails in this pod" : "";
}

std::string lacks_roce(const CheckedPod& pod) {
  const auto rails = pod.own_rails();
  const bool has_roce = std::any_of(rails.begin(), rails.end(), [](const Rail& rail) {
    return std::any_of(rail.ports.begin(), rail.ports.end(),
                       [](const RailPort& port) { return port.is_roce(); });
  });
  return has_roce ? "" : "no RoCE device in this pod";
}

std::string lacks_gpus(const CheckedPod& pod) {
  const auto nodes = list_gpu_nodes(pod.sys);
  return nodes && nodes->empty() ? "no GPU in this pod" : "";
}

std::string lacks_gpu_rails(const CheckedPod& pod) {
  const std::string out = lacks_gpus(pod);
  return out.empty() ? lacks_rails(pod) : out;
}

std::string shown_rail(const Rail& rail) {
  return rail.name + (rail.netdevs.empty() ? "" : " (" + rail.netdevs.front() + ")");
}

}  // namespace vfrail::pod

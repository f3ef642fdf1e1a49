#include "cni/in_pod/pod_check.h"

#include <algorithm>

namespace vfrail {

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

// /dev/nvidia0, /dev/nvidia1; not nvidiactl.
Result<size_t> CheckedPod::count_gpus() const {
  const auto names = TRY(sys.list("dev"), "").value_or(SysRoot::Names());
  return static_cast<size_t>(std::count_if(names.begin(), names.end(), [](const std::string& name) {
    return name.starts_with("nvidia") && name.size() > 6 &&
           name.find_first_not_of("0123456789", 6) == std::string::npos;
  }));
}

std::string describe(const Rail& rail) {
  return rail.name + (rail.netdevs.empty() ? "" : " (" + rail.netdevs.front() + ")");
}

}  // namespace vfrail

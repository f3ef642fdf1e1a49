#include "plugin/daemon_text.h"

#include "common/errors/error_id.h"
#include "common/text.h"
#include "plugin/match/pool_change.h"

#include <algorithm>

namespace vfrail::plugin {

std::vector<std::string> names_missing_in(const Config& other, const Config& here) {
  std::vector<std::string> out;
  for (const ResourceConfig& one : here.resources) {
    const auto same = [&](const ResourceConfig& candidate) { return candidate.resource() == one.resource(); };
    if (std::none_of(other.resources.begin(), other.resources.end(), same)) out.push_back(one.resource());
  }
  return out;
}

std::vector<std::string> find_refusals(const Pools& pools) {
  std::vector<std::string> out;
  for (const LeftOut& function : pools.left_out) {
    if (function.kind == LeftOut::Kind::host_use)
      out.push_back(function.id + " is not advertised: " + joined(texts_of(function.reasons), "; ") + " [" +
                    joined(ids_of(function.reasons)) + "]");
  }
  return out;
}

std::vector<std::string> find_incomplete(const std::vector<PublishedPool>& pools) {
  std::vector<std::string> out;
  for (const PublishedPool& pool : pools) {
    for (std::string& text : find_incomplete(*pool, pool.units())) out.push_back(std::move(text));
  }
  return out;
}

std::string unread_spec_text(const std::string& name) {
  return "no container runtime has read the CDI spec " + name +
         " since its device was allocated, so the pod probably has no device nodes; enable CDI in the "
         "runtime (containerd 2.0, or 1.7 with enable_cdi = true; CRI-O 1.23), or remove --use-cdi [" +
         id_text(ErrorId::cdi_not_supported) + "]";
}

std::string orphan_text(const std::string& what, const std::string& owner) {
  return text_with_id(
      what + (owner.empty() ? "" : " (" + owner + ")") +
          ", but kubelet has given it to no pod: run \"/opt/cni/bin/vfrail sweep --dry-run\" on the node",
      ErrorId::orphaned_attachment);
}

std::string unread_text(const std::vector<UnreadDevice>& unread) {
  std::vector<std::string> out;
  for (const UnreadDevice& device : unread) out.push_back(device.id + ": " + device.reason);
  return first_few(out);
}

}  // namespace vfrail::plugin

#include "cni/verbs/claimed.h"

#include "common/container/claim_record.h"

namespace vfrail::cni {

namespace {

std::string arg_of(const Request& request, const char* key) {
  const auto at = request.args.find(key);
  return at == request.args.end() ? std::string() : at->second;
}

}  // namespace

Result<std::vector<ClaimedDevice>> read_claimed(const Request& request, const World& world) {
  const ClaimingPod pod{arg_of(request, "K8S_POD_NAME"), arg_of(request, "K8S_POD_UID")};
  std::vector<ClaimedDevice> out;
  for (const ClaimRecord& record :
       TRY(claims_of_pod(world.run_folder, arg_of(request, "K8S_POD_NAMESPACE"), pod), "claims of the pod")) {
    const auto devices = TRY(devices_of_claim(world.run_folder, record));
    out.insert(out.end(), devices.begin(), devices.end());
  }
  return out;
}

}  // namespace vfrail::cni

#include "cni/hook/container_pod.h"

#include "cni/hook/container_process.h"
#include "common/errors/error_id.h"
#include "common/files.h"
#include "common/json.h"

namespace vfrail::cni {

Result<std::string> parse_pod_uid(std::string_view config) {
  const Json json = TRY(Json::parse_object(config, kMaxBundleConfig));
  const Json* annotations = json.find("annotations");
  if (annotations == nullptr) return std::string();
  for (const char* key : {"io.kubernetes.cri.sandbox-uid", "io.kubernetes.pod.uid"}) {
    const Json* uid = annotations->find(key);
    if (uid != nullptr && uid->as_text() != nullptr) return *uid->as_text();
  }
  return std::string();
}

Result<std::string> check_pod(const OciState& state, const std::string& uid) {
  const std::string path = state.bundle + "/config.json";
  const auto text = TRY(read_file(path, kMaxBundleConfig));
  if (!text) return Error{Errc::not_found, 0, path + " is not there"};
  const std::string own = TRY(parse_pod_uid(*text), path);
  if (own == uid) return container_text(state) + " is of the pod " + uid + ", as the claim is";
  const std::string whose =
      own.empty() ? "its configuration does not say of which pod it is" : "it is of pod " + own;
  return Error{Errc::busy, 0,
               "the claim of " + container_text(state) + " is prepared for pod " + uid + ", and " + whose +
                   ": a device has one owner. Delete this pod and start it when the other has ended, or give "
                   "each pod a claim of its own by a ResourceClaimTemplate",
               ErrorId::claim_refused};
}

}  // namespace vfrail::cni

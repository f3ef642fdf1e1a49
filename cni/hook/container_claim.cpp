#include "cni/hook/container_claim.h"

#include "cni/hook/container_process.h"
#include "common/container/claimed_device.h"
#include "common/errors/error_id.h"
#include "common/files.h"
#include "common/json.h"

namespace vfrail::cni {

namespace {

Result<> check_owner(const ClaimRecord& claim, const OciState& state) {
  const std::string path = state.bundle + "/config.json";
  const auto text = TRY(read_file(path, kMaxBundleConfig));
  if (!text) return Error{Errc::not_found, 0, path + " is not there"};
  const std::string own = TRY(parse_pod_uid(*text), path);
  if (own == claim.pod.uid) return {};
  const std::string whose =
      own.empty() ? "its configuration does not say of which pod it is" : "it is of pod " + own;
  return Error{
      Errc::busy, 0,
      claim.text() + " (" + claim.pod.uid + ") is not for " + container_text(state) + ": " + whose +
          ", and a device has one owner. Delete this pod and start it when the other has ended, or give "
          "each pod a claim of its own by a ResourceClaimTemplate",
      ErrorId::claim_refused};
}

Result<> check_attached(const ClaimRecord& claim, const DeviceId& device, const Attachments& attachments) {
  const auto owner = TRY(attachments.owner(device.text()));
  const auto record = owner ? TRY(attachments.load(*owner)) : std::nullopt;
  if (record && pod_of(*record).name == claim.pod.name &&
      pod_of(*record).name_space == claim.claim.name_space)
    return {};
  return Error{
      Errc::not_found, 0,
      "device " + device.text() + " of " + claim.text() +
          " is not attached to the pod: the list of the node's primary network in /etc/cni/net.d needs an "
          "entry "
          "of type vfrail with \"claims\", because vfrail serve runs with --dra-chained; then delete the pod",
      ErrorId::claim_refused};
}

}  // namespace

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

Result<std::string> check_claim(const OciState& state, const std::string& claim_uid,
                                const std::string& run_dir, const Attachments& attachments) {
  const auto claim = TRY(read_claim_record(run_dir, claim_uid));
  if (!claim)
    return Error{Errc::not_found, 0,
                 "claim " + claim_uid + " of " + container_text(state) +
                     " is not prepared on this node; delete the pod, so that kubelet prepares it again",
                 ErrorId::claim_refused};
  TRY(check_owner(*claim, state));
  for (const ClaimedDevice& device : TRY(devices_of_claim(run_dir, *claim)))
    TRY(check_attached(*claim, device.device, attachments));
  return container_text(state) + " has the devices of " + claim->text();
}

}  // namespace vfrail::cni

// The hook of the OCI runtime specification that stops a container with a claim whose devices vfrail-cni has
// to attach behind the node's primary network, if its pod has not got them. Two ways lead there: that
// network's list has lost its entry, and a second pod names the claim, for which kubelet asks nobody, since
// it is prepared already. The container would run with the nodes of the devices, and without their
// interfaces.
#pragma once

#include "cni/hook/memlock.h"
#include "common/node/attachments.h"
#include "common/result.h"

#include <string>
#include <string_view>

namespace vfrail::cni {

// The uid of the container's pod, by the annotations of its bundle's config.json: containerd's or CRI-O's.
// Empty: there is none.
Result<std::string> parse_pod_uid(std::string_view config);

// The claim by its uid. Errc::busy if the container is of another pod than the claim, or of nobody knows
// which; Errc::not_found if a device of it is not attached to that pod. Returns a sentence.
Result<std::string> check_claim(const OciState& state, const std::string& claim_uid,
                                const std::string& run_dir, const Attachments& attachments);

}  // namespace vfrail::cni

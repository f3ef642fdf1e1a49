// The hook of the OCI runtime specification that stops a container of another pod than the one that a claim
// was prepared for. A claim that pods name directly can be named by a second one, and kubelet, for which it
// is prepared already, asks nobody: that pod would run with the device's nodes and without its interface.
#pragma once

#include "cni/hook/memlock.h"
#include "common/result.h"

#include <string>
#include <string_view>

namespace vfrail::cni {

// The uid of the container's pod, by the annotations of its bundle's config.json: containerd's or CRI-O's.
// Empty: there is none.
Result<std::string> parse_pod_uid(std::string_view config);

// Errc::busy if the container is of another pod than `uid`, or of nobody knows which. Returns a sentence.
Result<std::string> check_pod(const OciState& state, const std::string& uid);

}  // namespace vfrail::cni

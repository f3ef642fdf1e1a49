// What is about a claim itself in the CDI specs of its requests: their names, the variable of each request,
// and the hook of a claim that another pod can name. Pure.
#pragma once

#include "common/container/cdi_spec.h"
#include "common/container/container_edits.h"

#include <string>

namespace vfrail::plugin {

// Without edits.
CdiSpec claim_spec(const std::string& uid, const std::string& request);

// "vfrail.io/claim=UID-REQUEST": a CDI device of that claim and request alone.
std::string claim_cdi_id(const std::string& uid, const std::string& request);

// "VFRAIL_REQUEST_NIC", of "nic" and of its alternative "nic/vf": the variable with the devices of that
// request alone. Of two requests of one resource each has the variable of the resource, and the runtime gives
// a container that has both the value of the second.
std::string request_variable(const std::string& request);

// Of a claim that a pod names directly: it stops the containers of other pods (vfrail-cni hook pod). kubelet
// prepares a claim once, and not again for the next pod that names it.
Hook pod_hook(const std::string& pod_uid, const std::string& cni_folder);

}  // namespace vfrail::plugin

// What is about a claim itself in the CDI specs of its requests: their names, the variable of each request,
// and the hook of a claim whose devices vfrail-cni finds by itself. Pure.
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

// It stops a container whose pod has not got the devices of the claim (vfrail-cni hook claim), because the
// primary network has lost its entry for claims, or the claim is another pod's.
Hook claim_hook(const std::string& uid, const std::string& cni_folder);

}  // namespace vfrail::plugin

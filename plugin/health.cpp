#include "plugin/health.h"

#include "common/text.h"
#include "plugin/pools.h"

#include <algorithm>

namespace vfrail {

namespace {

std::string whose_port(const Function& function) {
  return function.pf ? "the port of its PF " + function.pf->text() : std::string("its port");
}

// The physical state tells a cable that is not there from a subnet manager that has not come yet
// (IBTA 14.2.5.6, PortInfo). With several ports one that works is enough.
std::string port_fault(const Function& function) {
  std::vector<std::string> states;
  for (const RdmaPort& port : function.port.rdma) {
    if (port.link_layer != "InfiniBand") continue;
    if (port.physical == "LinkUp" || port.state == "ACTIVE") return "";
    states.push_back(port.state + (port.physical.empty() ? "" : ", " + port.physical));
  }
  if (states.empty()) return "";
  return whose_port(function) + " is " + joined(states, "; ") + ": look at its cable and switch";
}

std::string own_port_fault(const Function& function) {
  std::vector<std::string> states;
  for (const RdmaFacts& rdma : function.rdma) {
    for (const RdmaPort& port : rdma.ports) {
      if (port.state == "ACTIVE" || port.state == "INIT" || port.state == "ARMED") return "";
      states.push_back(rdma.name + " is " + port.state + (port.physical.empty() ? "" : ", " + port.physical));
    }
  }
  if (states.empty()) return "";
  return joined(states, "; ") + ": set its interface up, look at its cable and switch";
}

std::string carrier_fault(const Function& function) {
  if (function.link_type != "ether" || function.port.carrier) return "";
  if (!function.port.up) return whose_port(function) + " is administratively down: set its interface up";
  return whose_port(function) + " has no carrier: look at its cable and switch";
}

bool zero_guid(const std::string& guid) {
  return !guid.empty() && guid.find_first_not_of("0:") == std::string::npos;
}

std::string guid_fault(const Function& function) {
  if (!function.is_vf() || function.link_type != "infiniband") return "";
  const bool unset = std::any_of(function.rdma.begin(), function.rdma.end(),
                                 [](const RdmaFacts& rdma) { return zero_guid(rdma.guid); });
  if (!unset) return "";
  return "its GUID is not set, so that it cannot join the fabric: set it at the PF (ip link set ... vf N "
         "node_guid) and bind its driver again";
}

std::string devlink_fault(const Function& function) {
  if (function.port.failed_reporters.empty()) return "";
  return "devlink reports an error of " + joined(function.port.failed_reporters) +
         ": see devlink health show";
}

}  // namespace

std::string find_fault(const Function& function, const ResourceConfig& resource) {
  const HealthPolicy& policy = resource.health;
  std::string out;
  if (out.empty() && policy.devlink) out = devlink_fault(function);
  if (out.empty() && policy.port) out = shares(resource) ? own_port_fault(function) : port_fault(function);
  if (out.empty() && policy.carrier) out = carrier_fault(function);
  if (out.empty() && policy.guid) out = guid_fault(function);
  return out;
}

}  // namespace vfrail

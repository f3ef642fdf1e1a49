#include "plugin/device/match/health.h"

#include "common/errors/error_id.h"
#include "common/node/port_state.h"
#include "common/text.h"
#include "plugin/device/match/pools.h"

#include <algorithm>

namespace vfrail::plugin {

namespace {

std::string whose_port(const DeviceFacts& function) {
  return function.pf ? "the port of its PF " + function.pf->text() : std::string("its port");
}

// Its files are missing, or the firmware does not answer: nothing is known of it.
bool is_unreadable(const RdmaPort& port) { return port.state.empty() && port.physical.empty(); }

// Empty: not known.
std::string interface_of_port(const DeviceFacts& function) {
  if (function.pf) return function.pf_name;
  return function.netdevs.empty() ? std::string() : function.netdevs.front().name;
}

// The physical state distinguishes a missing cable from a subnet manager that has not come yet
// (IBTA 14.2.5.6, PortInfo). With several ports one that works is enough.
Fault port_fault(const DeviceFacts& function) {
  std::vector<std::string> states;
  std::string remedy;  // of the first
  for (const RdmaPort& port : function.port.rdma) {
    if (port.link_layer != "InfiniBand" || is_unreadable(port)) continue;
    if (port.physical == "LinkUp" || port.state == "ACTIVE") return {};
    if (states.empty()) remedy = port_remedy(port, interface_of_port(function));
    states.push_back(shown_state(port));
  }
  if (states.empty()) return {};
  return {FaultCode::port_down, whose_port(function) + " is " + joined(states, "; ") + ": " + remedy};
}

Fault own_port_fault(const DeviceFacts& function) {
  std::vector<std::string> states;
  std::string remedy;
  for (const RdmaFacts& rdma : function.rdma) {
    for (const RdmaPort& port : rdma.ports) {
      if (is_unreadable(port)) continue;
      if (port.state == "ACTIVE" || port.state == "INIT" || port.state == "ARMED") return {};
      if (port.link_layer == "Ethernet" && is_set_down(function)) return {};
      if (states.empty()) remedy = own_port_remedy(port, function);
      states.push_back(rdma.name + " is " + shown_state(port));
    }
  }
  if (states.empty()) return {};
  return {FaultCode::port_down, joined(states, "; ") + ": " + remedy};
}

bool zero_guid(const std::string& guid) {
  return !guid.empty() && guid.find_first_not_of("0:") == std::string::npos;
}

// Under every policy: vfrail-cni refuses to attach it.
Fault unclean_fault(const DeviceFacts& function) {
  if (function.unclean.empty()) return {};
  return {FaultCode::unclean,
          "it is not what it was before its last pod, and could not be restored: " + function.unclean +
              ": run \"/opt/cni/bin/vfrail sweep\" on the node, or rebind its driver, which creates a new "
              "interface"};
}

}  // namespace

// k8s-rdma-shared-dev-plugin sets the interface up, and so does whoever shares the device here
// (plugin/observe/link_up.h).
bool is_set_down(const DeviceFacts& function) {
  return std::any_of(function.netdevs.begin(), function.netdevs.end(),
                     [](const Netdev& netdev) { return !netdev.up; });
}

std::string own_port_remedy(const RdmaPort& port, const DeviceFacts& function) {
  if (port.link_layer == "Ethernet" && is_set_down(function))
    return std::string(row_of(ErrorId::admin_down).remedy);
  return port_remedy(port, function.netdevs.empty() ? "" : function.netdevs.front().name);
}

Fault carrier_fault(const DeviceFacts& function) {
  if (function.link_type != "ether" || function.port.carrier) return {};
  if (!function.port.up) {
    return {FaultCode::admin_down,
            whose_port(function) + " is administratively down: bring its interface up"};
  }
  return {FaultCode::no_carrier, whose_port(function) + " has no carrier: check its cable and switch"};
}

Fault guid_fault(const DeviceFacts& function) {
  if (!function.is_vf() || function.link_type != "infiniband") return {};
  const bool unset = std::any_of(function.rdma.begin(), function.rdma.end(),
                                 [](const RdmaFacts& rdma) { return zero_guid(rdma.guid); });
  if (!unset) return {};
  return {FaultCode::guid_unset,
          "its GUID is not set, so that it cannot join the fabric: set it at the PF (ip link set ... vf N "
          "node_guid) and bind its driver again"};
}

Fault devlink_fault(const DeviceFacts& function) {
  if (function.port.failed_reporters.empty()) return {};
  return {FaultCode::devlink_error, "devlink reports an error of " + joined(function.port.failed_reporters) +
                                        ": see devlink health show"};
}

Fault find_fault(const DeviceFacts& function, const ResourceConfig& resource) {
  const HealthPolicy& policy = resource.health;
  Fault out = unclean_fault(function);
  if (out.empty() && !function.provisioning.empty()) out = {FaultCode::provisioning, function.provisioning};
  if (out.empty() && policy.devlink) out = devlink_fault(function);
  if (out.empty() && policy.port) out = shares(resource) ? own_port_fault(function) : port_fault(function);
  if (out.empty() && policy.carrier) out = carrier_fault(function);
  if (out.empty() && policy.guid) out = guid_fault(function);
  return out;
}

}  // namespace vfrail::plugin

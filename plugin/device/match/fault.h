// Fault: why a device is advertised as unhealthy: a code that alerts can rely on, and a sentence for people.
// Pure.
#pragma once

#include "common/errors/error_id.h"

#include <cstdint>
#include <string>

namespace vfrail::plugin {

// Codes stay as they are from version to version; a new cause is a new code. metrics/README.md lists them.
enum class FaultCode : uint8_t {
  none,
  port_down,      // the InfiniBand port behind the device, or a shared device's own port, is down
  admin_down,     // the interface of that port is administratively down
  no_carrier,     // the Ethernet port has no carrier
  unclean,        // a pod changed it, and vfrail-cni could not restore it
  guid_unset,     // an InfiniBand VF without a GUID
  devlink_error,  // a devlink health reporter is in state "error"
  provisioning,   // `vfrail provision` has not done with its PF, or is to remove its VFs
  claimed,        // for kubelet's device plugin: a pod has it by a ResourceClaim
  gone,           // a container has it, and it has vanished from the node
  not_selected,   // a container has it, and not of the resource that the configuration gives it to
};
// The value of the metrics' label "reason": "port_down".
const char* name_of(FaultCode code);
ErrorId id_of(FaultCode code);  // not of `none`
inline constexpr FaultCode kLastFaultCode = FaultCode::not_selected;

struct Fault {
  FaultCode code = FaultCode::none;
  std::string text = {};  // "its port is DOWN, Polling: nothing answers at ..."

  bool empty() const { return code == FaultCode::none; }
  // Because of the container that has it, by kubelet's answer: no port is the reason.
  bool is_by_container() const { return code == FaultCode::gone || code == FaultCode::not_selected; }
  bool operator==(const Fault&) const = default;
};

}  // namespace vfrail::plugin

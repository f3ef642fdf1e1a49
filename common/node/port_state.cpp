#include "common/node/port_state.h"

namespace vfrail {

std::string shown_state(const RdmaPort& port) {
  return port.state + (port.physical.empty() ? "" : ", " + port.physical);
}

// The words are those of phys_state_to_str() in drivers/infiniband/core/sysfs.c (IBTA 14.2.5.6, PortInfo).
std::string port_remedy(const RdmaPort& port, const std::string& interface) {
  const std::string set_up = "ip link set " + (interface.empty() ? "NAME" : interface) + " up";
  // Its state is its interface's: Disabled is all that the kernel has for one without carrier.
  if (port.link_layer == "Ethernet" && interface.empty())
    return "its state is that of its interface, which is not visible here: check that it is there, is up and "
           "has carrier";
  if (port.link_layer == "Ethernet")
    return interface + " has no carrier: check the cable, the transceiver and the switch's port";
  if (port.state == "INIT" || port.state == "ARMED")
    return "no subnet manager has configured it: check that one runs in the fabric (sminfo)";
  if (port.physical == "Disabled")
    return "it is switched off on this node: " + set_up + "; if it stays so, mlxlink -d ADDRESS shows why";
  if (port.physical == "Polling")
    return "nothing answers at the other end: check its cable and the switch's port";
  if (port.physical == "Sleep") return "it sleeps to save power: " + set_up + ", and check the switch's port";
  if (port.physical == "PortConfigurationTraining" || port.physical == "LinkErrorRecovery")
    return "its link does not become stable: check the cable, and the speed of both ends";
  if (port.physical == "Phy Test") return "its link is being tested: end the test (mlxlink)";
  if (port.physical == "LinkUp")
    return "its link is up: check the subnet manager and, of a VF, its state at the PF (ip link set PF vf N "
           "state auto)";
  return "check its cable and switch";
}

}  // namespace vfrail

// What to do about an RDMA port that is not ACTIVE, which its state and physical state decide. Pure.
#pragma once

#include "common/node/rdma_facts.h"

#include <string>

namespace vfrail {

// "DOWN, Disabled"; "INIT, LinkUp".
std::string shown_state(const RdmaPort& port);

// "it is switched off on this node: ip link set ibp75s0 up; ...". `interface`: of the port; empty: not known.
std::string port_remedy(const RdmaPort& port, const std::string& interface);

}  // namespace vfrail

// GUIDs and MAC addresses of VFs, made from the hardware addresses of their PF: the same after each reboot,
// another for each VF, and locally administered, so that none is one of the factory. Pure.
#pragma once

#include "common/ids.h"

#include <cstdint>

namespace vfrail::plugin {

// `pf` is the GUID of the PF's port, which is not 0. Ports whose GUIDs have the same first three bytes (of
// the vendor) never share a GUID of a VF.
uint64_t derive_guid(uint64_t pf, uint16_t vf);

// `pf` has six bytes. PFs whose addresses have the same first three bytes share no address of a VF below
// index 256.
MacAddress derive_mac(const MacAddress& pf, uint16_t vf);

}  // namespace vfrail::plugin

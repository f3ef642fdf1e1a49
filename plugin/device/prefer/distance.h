// Where the functions and GPUs of an inventory are plugged in. Pure; how far places are apart is
// common/node/distance.h's.
#pragma once

#include "common/node/distance.h"
#include "plugin/device/inventory/inventory.h"

namespace vfrail::plugin {

Place place_of(const DeviceFacts& function);
Place place_of(const Gpu& gpu);

// The PF behind a function, or the function itself: what shares one port of a card and its bandwidth.
PciAddress port_of(const DeviceFacts& function);

}  // namespace vfrail::plugin

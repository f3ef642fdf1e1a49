// Devices as `vfrail serve` offers those of a node with eight cards of 400 Gb/s. Pure.
#pragma once

#include "common/json.h"

#include <cstddef>

namespace vfrail::test {

// `count` VFs of eight cards, card by card in turn, which is the order `spread`. The first is unhealthy if
// `fault` is.
enum class FirstDevice : bool { healthy, unhealthy };
Json::Array node_devices(size_t count, FirstDevice first = FirstDevice::healthy);
// What the body of PUT /devices has.
Json offer_body(size_t count, FirstDevice first);

}  // namespace vfrail::test

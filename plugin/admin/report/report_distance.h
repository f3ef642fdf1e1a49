// Renders how far the devices of each pool are from the GPUs and from each other: a table for people, JSON
// for programs. Pure. By PFs, because all functions of one PF are in the same place.
#pragma once

#include "common/json.h"
#include "plugin/device/inventory/inventory.h"
#include "plugin/device/match/pools.h"

#include <string>

namespace vfrail::plugin {

// For each pool (without any: for all functions) a matrix as `nvidia-smi topo -m` has it, PFs below each
// other, GPUs and PFs beside each other; then who G0, P0 and the others are.
std::string render_distances(const Inventory& inventory, const Pools& pools);
// "distances" of the JSON: [{"resource","preferred_allocation","pfs":[{"address","name","numa_node",
// "devices":[id],"gpus":{address:"PIX"},"pfs":{address:"SYS"}}]}].
Json distances_json(const Inventory& inventory, const Pools& pools);

// "PIX to GPU 0000:1b:00.0, NODE to 3 more, SYS to 4 more"; "no GPU on this node".
std::string describe_gpus(const DeviceFacts& function, const std::vector<Gpu>& gpus);

}  // namespace vfrail::plugin

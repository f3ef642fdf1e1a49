// What each Preference wants of a set of devices, as numbers to be made small. Pure. The only place that
// says which set is better; the search for the best one is choose() in plugin/device/prefer/preferred.h.
//
//   numa        as few NUMA nodes as possible; of these, those that have the least left over then (so that
//               other nodes stay whole); evenly over PFs; PFs of which little is taken
//   pcie        each device near a GPU of its own; near to each other; evenly over PFs; both once more, in
//               finer steps; PFs of which little is taken
//   pack        as few PFs as possible; near to each other; PFs that have the least left over then
//   spread      evenly over PFs, counting these devices; counting also what is taken; near to each other
//   distinctPF  evenly over PFs (so no two of one PF while there are other PFs); as few NUMA nodes as
//               possible; near to each other; PFs of which little is taken
//   rail        evenly over PFs; the first PFs in the order of their addresses
//
// An earlier objective counts for more than all later ones together. "Near" sums up distances: over all pairs
// of devices; and of each device to its GPU, when GPUs are dealt out to devices as well as possible. As long
// as a PCIe host bridge need not be crossed that is near enough (CARD, PIX and PXB are 0, PHB 1, NODE 2, SYS
// 3); the finer steps are those of Distance.
#pragma once

#include "plugin/device/config/config.h"
#include "plugin/device/prefer/device_tree.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace vfrail::plugin {

// As the configuration writes it: "distinctPF".
const char* word(Preference preference);

// A number for each objective, in the order of the objectives. Smaller is better, compared from the left.
using Cost = std::array<int64_t, 5>;

Cost operator+(const Cost& a, const Cost& b);

class Objective {
 public:
  // For sets of `size` devices.
  Objective(Preference preference, const DeviceTree& tree, size_t size);

  // What the group adds to the cost when the set has `count` of its devices. All objectives are sums over
  // groups.
  Cost of(const Group& group, size_t count) const;
  // Of a set that has `counts[i]` devices of the tree's group i.
  Cost of_set(const DeviceTree& tree, const std::vector<size_t>& counts) const;

 private:
  Preference preference_;
  size_t devices_a_gpu_ = 0;  // how many devices have to share one GPU
};

}  // namespace vfrail::plugin

// preferred(): which of the available units a container should get, by the pool's Preference. Pure. Never
// fails: it returns a valid set whenever there is one, and an empty one otherwise, which leaves the choice to
// kubelet.
//
// What it cannot know, because kubelet does not pass it: which pod asks, and which GPUs it has or will get
// (those are another plugin's, asked separately). `pcie` therefore proposes sets with a GPU near each device;
// that the pod gets just these GPUs takes NUMA alignment (topology manager), or a pod that takes all of them.
#pragma once

#include "plugin/device/match/published_pool.h"
#include "plugin/device/prefer/objective.h"

#include <cstdint>
#include <string>
#include <vector>

namespace vfrail::plugin {

struct PreferredRequest {
  std::vector<std::string> available;
  std::vector<std::string> must_include;  // kubelet: also in `available`
  int64_t size = 0;
};

// What units are chosen by; `none`: kubelet chooses, and need not ask. Units of a shared_one pool are spread
// by default, so that a pod gets the least used device. Units of several devices have nothing to choose by.
Preference preference_of(const Pool& pool);

// Ids of units, in the order of rails, then of the pool. (Kubelet makes a set of them: Allocate gets them in
// any order.)
//
// Valid is: exactly `size` ids, each once, all of `must_include` among them, all of them available. Ids that
// are not in the pool are chosen only if there are not enough others.
std::vector<std::string> preferred(const PublishedPool& pool, const PreferredRequest& request);

// The best choice in a tree: how many devices of each of its groups. Sizes from groups[0].must to
// groups[0].free.
struct Choice {
  std::vector<size_t> counts;
  uint64_t steps = 0;  // costs that were compared
};

// The best choice, exact and deterministic. Of equally good sets, the one with more devices in earlier
// groups.
//
// A group's best way to provide n devices depends on nothing but n, so it is computed from the best ways of
// its children, from the PFs upwards. At most 14 * devices * (size + 1) steps: on each of seven levels a
// device is joined once with at most `size` others, and a group with devices as well.
Choice choose(const DeviceTree& tree, const Objective& objective, size_t size);

}  // namespace vfrail::plugin

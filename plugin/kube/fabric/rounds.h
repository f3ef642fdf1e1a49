// In which order all pairs of ends are measured, so that no measurement disturbs another. Pure.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace vfrail::kube {

using Pair = std::pair<size_t, size_t>;
using Round = std::vector<Pair>;

// Each unordered pair of `count` ends once; within a round no end is in two pairs. As few rounds as there can
// be (the circle method): count - 1, or count if it is odd.
std::vector<Round> all_pairs(size_t count);

}  // namespace vfrail::kube

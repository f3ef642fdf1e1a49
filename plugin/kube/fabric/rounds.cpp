#include "plugin/kube/fabric/rounds.h"

#include <algorithm>

namespace vfrail::kube {

std::vector<Round> all_pairs(size_t count) {
  std::vector<Round> out;
  if (count < 2) return out;
  // One stays and the others go round it; with an odd number the one that stays is nobody.
  const size_t places = count + count % 2;
  const size_t circle = places - 1;
  for (size_t turn = 0; turn < circle; ++turn) {
    Round round;
    const auto add = [&](size_t a, size_t b) {
      if (a < count && b < count) round.emplace_back(std::min(a, b), std::max(a, b));
    };
    add(circle, turn);
    for (size_t i = 1; i < places / 2; ++i) add((turn + i) % circle, (turn + circle - i) % circle);
    std::sort(round.begin(), round.end());
    out.push_back(std::move(round));
  }
  return out;
}

}  // namespace vfrail::kube

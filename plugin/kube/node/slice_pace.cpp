#include "plugin/kube/node/slice_pace.h"

#include <algorithm>

namespace vfrail::kube {

SlicePace::Steady::time_point SlicePace::create_due(size_t index) const {
  const auto slice = slices_.find(index);
  return slice == slices_.end() ? Steady::time_point{} : slice->second.tried + kGap;
}

SlicePace::Steady::time_point SlicePace::replace_due(size_t index, size_t replaced) const {
  const auto slice = slices_.find(index);
  if (slice == slices_.end()) return {};
  const auto gap = kGap * static_cast<int64_t>(std::max<size_t>(replaced, 1));
  return std::max(slice->second.tried + gap, slice->second.regular - kLongRun * (kBurst - 1));
}

void SlicePace::replaced(size_t index, Steady::time_point now) {
  Slice& slice = slices_[index];
  slice.tried = now;
  slice.regular = std::max(slice.regular, now) + kLongRun;
}

}  // namespace vfrail::kube

#include "plugin/device/prefer/objective.h"

#include <algorithm>

namespace vfrail::plugin {

namespace {

using Measure = int64_t (*)(Distance);

int64_t coarse(Distance distance) {
  switch (distance) {
    case Distance::card:
    case Distance::pix:
    case Distance::pxb:
      return 0;
    case Distance::phb:
      return 1;
    case Distance::node:
      return 2;
    case Distance::sys:
      return 3;
  }
  return 3;
}

int64_t fine(Distance distance) { return static_cast<int64_t>(distance); }

// How much nearer devices are by meeting here and not one level above. Devices that meet in a group have met
// in all groups above it as well, so these steps add up to the distance of where they first meet.
int64_t step(Level level, Measure measure) {
  if (level == Level::whole) return measure(meet_at(level));
  return measure(meet_at(level)) - measure(meet_at(static_cast<Level>(static_cast<uint8_t>(level) - 1)));
}

// What one group adds to the sum of an objective.
struct Share {
  const Group& group;
  int64_t count;
  int64_t devices_a_gpu;

  int64_t used(Level level) const { return group.level == level && count > 0 ? 1 : 0; }
  int64_t left_over(Level level) const { return used(level) * (static_cast<int64_t>(group.free) - count); }
  // Squares: a sum of numbers being given, the sum of their squares is smallest when they are even.
  int64_t crowded() const { return group.level == Level::pf ? count * count : 0; }
  int64_t busy() const {
    const int64_t all = static_cast<int64_t>(group.taken) + count;
    return used(Level::pf) * (all * all - static_cast<int64_t>(group.taken * group.taken));
  }
  int64_t apart(Measure measure) const { return step(group.level, measure) * (count * (count - 1) / 2); }
  // Assigning GPUs from the narrowest group upwards is best, and leaves in each group either only devices or
  // only GPUs without a partner: so this many pairs have been found in here.
  int64_t far_from_gpus(Measure measure) const {
    const int64_t pairs = std::min(count, static_cast<int64_t>(group.gpus) * devices_a_gpu);
    return step(group.level, measure) * pairs;
  }
  int64_t rails() const { return group.level == Level::pf ? count * static_cast<int64_t>(group.rail) : 0; }
};

}  // namespace

const char* word(Preference preference) {
  switch (preference) {
    case Preference::none:
      return "none";
    case Preference::numa:
      return "numa";
    case Preference::pcie:
      return "pcie";
    case Preference::pack:
      return "pack";
    case Preference::spread:
      return "spread";
    case Preference::distinct_pf:
      return "distinctPF";
    case Preference::rail:
      return "rail";
  }
  return "?";
}

Cost operator+(const Cost& a, const Cost& b) {
  Cost out;
  for (size_t i = 0; i < out.size(); ++i) out[i] = a[i] + b[i];
  return out;
}

Objective::Objective(Preference preference, const DeviceTree& tree, size_t size) : preference_(preference) {
  const size_t gpus = tree.groups.front().gpus;
  if (gpus > 0) devices_a_gpu_ = (size + gpus - 1) / gpus;
}

Cost Objective::of(const Group& group, size_t count) const {
  const Share here{group, static_cast<int64_t>(count), static_cast<int64_t>(devices_a_gpu_)};
  switch (preference_) {
    case Preference::none:
      return {};
    case Preference::numa:
      return {here.used(Level::numa_node), here.left_over(Level::numa_node), here.crowded(), here.busy()};
    case Preference::pcie:
      return {here.far_from_gpus(coarse), here.apart(coarse), here.crowded(),
              here.far_from_gpus(fine) + here.apart(fine), here.busy()};
    case Preference::pack:
      return {here.used(Level::pf), here.apart(coarse), here.left_over(Level::pf)};
    case Preference::spread:
      return {here.crowded(), here.busy(), here.apart(coarse)};
    case Preference::distinct_pf:
      return {here.crowded(), here.used(Level::numa_node), here.apart(coarse), here.busy()};
    case Preference::rail:
      return {here.crowded(), here.rails()};
  }
  return {};
}

Cost Objective::of_set(const DeviceTree& tree, const std::vector<size_t>& counts) const {
  Cost out{};
  for (size_t i = 0; i < tree.groups.size(); ++i) out = out + of(tree.groups[i], counts[i]);
  return out;
}

}  // namespace vfrail::plugin

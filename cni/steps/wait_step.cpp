#include "cni/steps/wait_step.h"

#include "cni/node/device.h"
#include "common/errors/error_id.h"

#include <algorithm>

namespace vfrail::cni {

namespace {

// On an overloaded machine the namespaces of 14 pods took 25 s.
constexpr std::chrono::milliseconds kLongestReturn{30'000};

}  // namespace

Result<> wait_for_host_link(World& world, const std::function<Result<bool>()>& ready) {
  const auto last = std::chrono::steady_clock::now() + std::max(kLongestReturn, world.return_timeout);
  for (;;) {
    int asked = 0;
    const auto deadline = std::min(last, std::chrono::steady_clock::now() + world.return_timeout);
    auto done = world.host.wait_for_link(deadline, [&] {
      ++asked;
      return ready();
    });
    // Links are counted at the beginning and at the end; any difference is a change.
    const bool changed = asked > 2;
    const bool in_time = std::chrono::steady_clock::now() < last;
    if (done || done.error().code != Errc::timeout || !changed || !in_time) return done;
  }
}

Result<bool> exists_somewhere(const Record& record, const World& world) {
  if (record.link && record.link->ends_with_its_namespace()) return false;
  if (!record.device) return true;
  const auto device = TRY(read_device(world.sys, *record.device, Facts::driver));
  return device && device->driver.is_bound() && !device->driver.is_user_space();
}

Result<> must_have_ended(const Record& record, const World& world) {
  if (!record.link || !TRY(exists_somewhere(record, world))) return {};
  return Error{Errc::busy, 0,
               "the interface of " + record.device_key +
                   " is not in the host any more: its driver is making it again, or it was moved; try again",
               ErrorId::device_not_in_host};
}

}  // namespace vfrail::cni

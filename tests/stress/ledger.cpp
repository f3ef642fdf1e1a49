#include "tests/stress/ledger.h"

#include "tests/netns/snapshot.h"

namespace vfrail::test {

Ledger::Attempt Ledger::begin(size_t device, const std::string& who) {
  const std::lock_guard guard(mutex_);
  Device& it = devices_[device];
  ++it.calls;
  ++it.running;
  const size_t others = it.doubtful.size() - it.doubtful.count(who);
  return {device, it.owner, it.tenure, it.calls, it.running == 1 && it.owner.empty() && others == 0};
}

Held Ledger::end(const Attempt& attempt) {
  const std::lock_guard guard(mutex_);
  Device& it = devices_[attempt.device];
  --it.running;
  if (attempt.alone && it.calls == attempt.calls) return Held::free;
  return !attempt.owner.empty() && it.tenure == attempt.tenure ? Held::owned : Held::unsure;
}

void Ledger::take(size_t device, const std::string& who) {
  const std::lock_guard guard(mutex_);
  Device& it = devices_[device];
  if (!it.owner.empty()) throw Lost("two owners: " + it.owner + " has the device, and so has " + who);
  it.owner = who;
  ++it.tenure;
}

void Ledger::doubt(size_t device, const std::string& who) {
  const std::lock_guard guard(mutex_);
  Device& it = devices_[device];
  it.doubtful.insert(who);
  if (it.owner != who) return;
  it.owner.clear();
  ++it.tenure;
}

void Ledger::forget(size_t device, const std::string& who) {
  const std::lock_guard guard(mutex_);
  devices_[device].doubtful.erase(who);
}

std::vector<size_t> Ledger::nobodys() const {
  const std::lock_guard guard(mutex_);
  std::vector<size_t> out;
  for (size_t i = 0; i < devices_.size(); ++i) {
    if (devices_[i].owner.empty() && devices_[i].doubtful.empty()) out.push_back(i);
  }
  return out;
}

}  // namespace vfrail::test

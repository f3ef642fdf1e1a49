// Ledger: what is known about each device, from what vfrail-cni said and from when it was asked. Reads no
// kernel. Safe to use from many threads.
//
// An owner is certain: the ADD said success and no DEL has begun. Whoever may have a device (killed, or its
// pod has ended) does until a DEL of its name has said success.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace vfrail::test {

// What held from the begin of a call to its end, without a gap.
enum class Held : uint8_t {
  unsure,
  free,   // nobody had the device, and nobody but the call reached for it
  owned,  // one and the same attachment had it
};

class Ledger {
 public:
  explicit Ledger(size_t devices) : devices_(devices) {}

  struct Attempt {
    size_t device = 0;
    std::string owner;
    uint64_t tenure = 0;
    uint64_t calls = 0;
    bool alone = false;
  };
  // Around each call of `who` that may change the device.
  Attempt begin(size_t device, const std::string& who);
  Held end(const Attempt& attempt);

  // An ADD has said success. Throws Lost if the device has an owner.
  void take(size_t device, const std::string& who);
  // From now on `who` may have it or not: its DEL begins, its ADD was killed, its pod ends.
  void doubt(size_t device, const std::string& who);
  // A DEL has said success.
  void forget(size_t device, const std::string& who);

  // Nobody has them, and nobody may.
  std::vector<size_t> nobodys() const;

 private:
  struct Device {
    std::string owner;
    uint64_t tenure = 0;  // counts changes of the owner
    std::set<std::string> doubtful;
    uint64_t calls = 0;  // that have begun
    int running = 0;
  };
  mutable std::mutex mutex_;
  std::vector<Device> devices_;
};

}  // namespace vfrail::test

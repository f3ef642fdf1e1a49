// The device plugin while its system calls fail, one after the other: what each trial does and what must
// hold. See plugin_main.cpp.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace vfrail::test {

// What became of one trial.
struct Fault {
  long calls = 0;      // made between the marks
  std::string failed;  // "openat /sys/..."; empty: there were fewer calls
};

// On the traced thread: from here on the k-th call fails; and the end of it.
void begin_fault(long k, int error);
Fault end_fault();

// All trials of one kind.
class Faults {
 public:
  struct Options {
    bool every_errno = false;  // at each call; else one in turn
    bool verbose = false;
  };
  Faults(std::string name, Options options) : name_(std::move(name)), options_(options) {}

  // `trial` is called with k = 1, 2, ... until it has fewer calls than k.
  void run(const std::function<Fault(long k, int error)>& trial);
  // From within a trial.
  void complain(const std::string& what);
  // Prints what was done; whether nothing was complained about.
  bool report() const;

 private:
  const std::string name_;
  const Options options_;
  long points_ = 0;
  long trials_ = 0;
  double seconds_ = 0;
  std::string now_;  // "call 17 EIO"
  std::vector<std::string> complaints_;
  std::vector<std::pair<size_t, std::string>> of_trial_;
};

// One kind each: Allocate, a scrape; a rescan, a device that goes, a changed configuration, a rescan whose
// questions to the kernel fail, a rescan of a shared device and of bundles, a device that goes and whose CDI
// spec is removed.
void allocate_with_faults(Faults& faults);
void scrape_with_faults(Faults& faults);
enum class Cause { rescan, departure, reload, netlink, shared, bundle, tidy };
void serve_with_faults(Faults& faults, Cause cause);

}  // namespace vfrail::test

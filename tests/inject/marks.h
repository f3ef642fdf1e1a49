// What a program under inject_marked says to its tracer: from here to there, let the K-th system call of this
// thread fail. By a signal to itself with a pointer, which the tracer takes away: between the marks, and up
// to the call that fails, the thread stops at each call; the rest of the time it runs at full speed.
#pragma once

#include <csignal>
#include <cstddef>

namespace vfrail::test {

inline constexpr int kMarkSignal = SIGUSR2;
inline constexpr size_t kMaxCallText = 512;

struct Mark {
  // begin: counts from the next call on, and answers call number `k` with `error`. Else: ends it.
  bool begin = false;
  long k = 0;
  int error = 0;
  // From the tracer. At the end: how many calls were counted, up to the one that failed, and that one
  // ("openat /sys/bus/pci/devices"); empty if there were fewer than k.
  bool taken = false;
  long calls = 0;
  char failed[kMaxCallText] = {};
};

}  // namespace vfrail::test

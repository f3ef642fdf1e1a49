// A sweep: one verb of vfrail-cni, hit at its first system call, at its second, ... until it makes no more.
// Checks the node after each. A sweep with step 1 omits no point that could differ; imperfect results are
// counted by their reason.
#pragma once

#include "tests/inject/scene.h"

#include <map>
#include <string>
#include <vector>

namespace vfrail::test {

struct Sweep {
  std::string verb;  // of the specification, or "GC of all": the one in which no attachment is valid any more
  std::string what;  // kKill, kKillBeforeChange, the errno that the call answers with, or kErrnosInTurn
  std::string
      then;  // after a kill: what has to bring the node back, or kEachInTurn; empty for harmless verbs
  Setting setting;
  int step = 1;  // each call (1), each second call (2) ...: where a trial takes seconds
  std::string text() const;
  bool kills() const { return what.starts_with("kill"); }
};

// Words of the injector. The second makes a fourth of the trials: a kill between two calls that change
// nothing is the kill before them.
inline constexpr const char* kKill = "kill";
inline constexpr const char* kKillBeforeChange = "kill-before-change";
inline constexpr const char* kEachInTurn = "one of the continuations in turn";
inline constexpr const char* kErrnosInTurn = "errnos in turn";  // the k-th call answers with the k-th of them
const std::vector<std::string>& errnos();

// What may follow when the verb was killed.
std::vector<std::string> continuations_of(const std::string& verb);

struct Tally {
  int points = 0;
  // Faults after which a failed ADD has left something to the DEL that a runtime sends then, by system call.
  std::map<std::string, int> left_to_del;
  // Faults in the C library's start, before main(), for which it ended the process by a signal: at once, or
  // later, as malloc() does when brk() did not round up the first heap.
  int died_in_start = 0;
  std::vector<std::string> complaints;
};

Tally run_sweep(const Sweep& sweep, const std::string& injector);

}  // namespace vfrail::test

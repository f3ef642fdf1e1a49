// plugin_faults: the device plugin while each of its system calls fails, in scan, publication, reload,
// Allocate and scrape. The rule: nothing is published, released or deleted because of a read that failed;
// every such failure is in the log and counted; and when calls work again everything is as it was.
//
//   inject_marked plugin_faults [--all] [--verbose] [NAME]...
//
// --all: at each call every errno; else one in turn. NAME: allocate, scrape, rescan, departure, reload,
// netlink, shared, bundle, tidy. One process lives through all trials of all kinds, so that it also shows
// what they leave open.
#include "tests/inject/marks.h"
#include "tests/inject/plugin_faults.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <pthread.h>
#include <unistd.h>

namespace vfrail::test {

namespace {

// What the kernel answers when it is short of something, a disk is full or read-only, or a device is broken.
constexpr int kErrnos[] = {EIO, EMFILE, ENOMEM, EACCES, ENOSPC, EROFS, EINTR};
constexpr size_t kMostComplaints = 40;

}  // namespace

namespace {

void give(Mark& mark) {
  sigval value{};
  value.sival_ptr = &mark;
  if (::pthread_sigqueue(::pthread_self(), kMarkSignal, value) == 0 && mark.taken) return;
  std::fprintf(stderr, "plugin_faults: not under inject_marked\n");
  ::_exit(126);
}

}  // namespace

void begin_fault(long k, int error) {
  Mark mark{.begin = true, .k = k, .error = error};
  give(mark);
}

Fault end_fault() {
  Mark mark;
  give(mark);
  return {mark.calls, mark.failed};
}

void Faults::run(const std::function<Fault(long k, int error)>& trial) {
  const auto began = std::chrono::steady_clock::now();
  constexpr long kNumber = std::size(kErrnos);
  for (long k = 1;; ++k) {
    bool reached = false;
    for (long i = 0; i < (options_.every_errno ? kNumber : 1); ++i) {
      const int error = kErrnos[options_.every_errno ? i : k % kNumber];
      now_ = "call " + std::to_string(k) + " " + strerrorname_np(error);
      const size_t before = complaints_.size();
      const Fault fault = trial(k, error);
      reached = reached || !fault.failed.empty();
      trials_ += fault.failed.empty() ? 0 : 1;
      for (size_t at = before; at < complaints_.size(); ++at) complaints_[at] += " after " + fault.failed;
      if (options_.verbose) std::printf("%s %s\n", now_.c_str(), fault.failed.c_str());
    }
    if (!reached) break;
    points_ = k;
  }
  seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

void Faults::complain(const std::string& what) { complaints_.push_back(now_ + ": " + what); }

bool Faults::report() const {
  std::printf("%s %s: %ld calls, %ld trials, %zu complaints, %.1f s\n", complaints_.empty() ? "ok  " : "FAIL",
              name_.c_str(), points_, trials_, complaints_.size(), seconds_);
  for (size_t i = 0; i < std::min(complaints_.size(), kMostComplaints); ++i)
    std::printf("    %s\n", complaints_[i].c_str());
  std::fflush(stdout);
  return complaints_.empty();
}

}  // namespace vfrail::test

namespace {

size_t open_files() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(all), end(all)));
}

}  // namespace

int main(int count, char** arguments) {
  using namespace vfrail::test;
  std::vector<std::string> names;
  Faults::Options options;
  for (int i = 1; i < count; ++i) {
    const std::string word = arguments[i];
    if (word == "--all")
      options.every_errno = true;
    else if (word == "--verbose")
      options.verbose = true;
    else
      names.push_back(word);
  }
  bool good = true;
  const auto run = [&](const std::string& name, const std::function<void(Faults&)>& kind) {
    if (!names.empty() && std::find(names.begin(), names.end(), name) == names.end()) return;
    Faults faults(name, options);
    const size_t before = open_files();
    kind(faults);
    // gRPC opens some that it keeps.
    if (const size_t now = open_files(); now > before + 16)
      faults.complain(std::to_string(now - before) + " files are left open");
    good = faults.report() && good;
  };
  run("allocate", allocate_with_faults);
  run("scrape", scrape_with_faults);
  run("rescan", [](Faults& faults) { serve_with_faults(faults, Cause::rescan); });
  run("departure", [](Faults& faults) { serve_with_faults(faults, Cause::departure); });
  run("reload", [](Faults& faults) { serve_with_faults(faults, Cause::reload); });
  run("netlink", [](Faults& faults) { serve_with_faults(faults, Cause::netlink); });
  run("shared", [](Faults& faults) { serve_with_faults(faults, Cause::shared); });
  run("bundle", [](Faults& faults) { serve_with_faults(faults, Cause::bundle); });
  run("tidy", [](Faults& faults) { serve_with_faults(faults, Cause::tidy); });
  return good ? 0 : 1;
}

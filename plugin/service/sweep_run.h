// SweepRun: one run of `vfrail-cni sweep`, which restores orphaned devices. Owns the process; does not wait
// for it, and decides nothing about devices.
#pragma once

#include "common/result.h"
#include "common/unique_fd.h"

#include <string>
#include <sys/types.h>

namespace vfrail::plugin {

class SweepRun {
 public:
  // `program`: the installed CNI executable, /opt/cni/bin/vfrail.
  static Result<SweepRun> start(const std::string& program);
  SweepRun(SweepRun&& other) noexcept;
  SweepRun& operator=(SweepRun&&) = delete;
  // A run that has not ended is killed: the next one does the rest.
  ~SweepRun();

  // A pidfd: readable when the run has ended.
  int fd() const { return process_.get(); }

  struct Outcome {
    int exit_code = -1;  // -1: a signal ended it
    std::string output;  // both streams, at most 16 KiB
  };
  // Once; waits if it has to.
  Outcome finish();

 private:
  SweepRun(pid_t pid, UniqueFd process, UniqueFd output)
      : pid_(pid), process_(std::move(process)), output_(std::move(output)) {}
  int reap() const;

  pid_t pid_ = 0;  // 0: reaped
  UniqueFd process_;
  UniqueFd output_;  // memfd_create(2)
};

}  // namespace vfrail::plugin

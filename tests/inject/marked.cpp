// inject_marked: runs a program and lets system calls of its main thread fail where the program asks for it,
// see marks.h. Its other threads and its children run untraced. The exit status is the program's, 128 and the
// signal's number if a signal ended it; then the call that had failed last is written to stderr.
//
//   inject_marked COMMAND [ARGUMENT]...
//
// Left out are calls whose failure says nothing about the node or its files: those of threads with each other
// (futex, eventfd, epoll), the end of things (munmap, close), signals, and what cannot fail.
#include "tests/inject/calls.h"
#include "tests/inject/marks.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace vfrail::test;

std::string text_at(pid_t pid, uint64_t address) {
  char out[512] = {};
  constexpr size_t kMost = sizeof out - 1;
  // The page that it begins in is there; the next one is read too, if there is one: process_vm_readv(2)
  // answers what it could read of the pieces.
  const size_t first = std::min<size_t>(kMost, 4096 - address % 4096);
  iovec mine{out, kMost};
  iovec theirs[] = {{reinterpret_cast<void*>(address), first},
                    {reinterpret_cast<void*>(address + first), kMost - first}};
  return process_vm_readv(pid, &mine, 1, theirs, first < kMost ? 2 : 1, 0) > 0 ? out : "";
}

std::string link_of(pid_t pid, uint64_t fd) {
  char out[256] = {};
  const std::string path = "/proc/" + std::to_string(pid) + "/fd/" + std::to_string(static_cast<int>(fd));
  return readlink(path.c_str(), out, sizeof out - 1) > 0 ? out : "";
}

// "openat /sys/bus/pci/devices", "read /sys/.../uevent".
std::string describe(pid_t pid, const __ptrace_syscall_info& call) {
  const auto& args = call.entry.args;
  const std::string name = call_name(static_cast<long>(call.entry.nr)) + " ";
  switch (call.entry.nr) {
    case SYS_openat:
    case SYS_newfstatat:
    case SYS_readlinkat:
    case SYS_faccessat:
    case SYS_faccessat2:
    case SYS_unlinkat:
    case SYS_mkdirat: {
      const std::string path = text_at(pid, args[1]);
      const bool relative = path.empty() || path[0] != '/';
      return name + (relative && static_cast<int>(args[0]) >= 0 ? link_of(pid, args[0]) + "/" : "") + path;
    }
    case SYS_open:
    case SYS_stat:
    case SYS_lstat:
    case SYS_readlink:
    case SYS_access:
    case SYS_unlink:
    case SYS_mkdir:
    case SYS_chmod:
    case SYS_rename:
      return name + text_at(pid, args[0]);
    case SYS_read:
    case SYS_pread64:
    case SYS_write:
    case SYS_fstat:
    case SYS_getdents64:
    case SYS_fsync:
    case SYS_fchmod:
    case SYS_lseek:
    case SYS_recvmsg:
    case SYS_sendmsg:
      return name + link_of(pid, args[0]);
    default:
      return name;
  }
}

bool counts(pid_t pid, const __ptrace_syscall_info& call) {
  switch (call.entry.nr) {
    case SYS_futex:
    case SYS_close:
    case SYS_munmap:
    case SYS_madvise:
    case SYS_epoll_ctl:
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
    case SYS_rt_sigreturn:
    case SYS_rt_tgsigqueueinfo:
    case SYS_getpid:
    case SYS_gettid:
    case SYS_getuid:
    case SYS_rt_sigprocmask:
    case SYS_sched_yield:
    case SYS_exit:
    case SYS_exit_group:
    case SYS_restart_syscall:
      return false;
    case SYS_read:
    case SYS_write:
      return link_of(pid, call.entry.args[0]) != "anon_inode:[eventfd]";
    default:
      return true;
  }
}

class Tracer {
 public:
  explicit Tracer(pid_t pid) : pid_(pid) {}

  // How the program runs on: stopping at each call while there is one to fail.
  __ptrace_request step() const { return active_ ? PTRACE_SYSCALL : PTRACE_CONT; }
  void stopped_at_call() {
    __ptrace_syscall_info call{};
    if (ptrace(PTRACE_GET_SYSCALL_INFO, pid_, sizeof call, &call) < 0) return;
    if (call.op == PTRACE_SYSCALL_INFO_ENTRY) entered(call);
    if (call.op == PTRACE_SYSCALL_INFO_EXIT) left();
  }
  // At the signal; false if it is another's.
  bool take_mark() {
    siginfo_t info{};
    Mark mark;
    iovec mine{&mark, sizeof mark};
    if (ptrace(PTRACE_GETSIGINFO, pid_, nullptr, &info) < 0 || info.si_code != SI_QUEUE) return false;
    iovec theirs{info.si_value.sival_ptr, sizeof mark};
    if (process_vm_readv(pid_, &mine, 1, &theirs, 1, 0) < 0) return false;
    active_ = mark.begin;
    if (mark.begin) {
      k_ = mark.k;
      error_ = mark.error;
      calls_ = 0;
      failed_.clear();
    } else {
      mark.calls = calls_;
      failed_.copy(mark.failed, sizeof mark.failed - 1);
    }
    mark.taken = true;
    if (process_vm_writev(pid_, &mine, 1, &theirs, 1, 0) < 0) die("inject_marked: answer");
    return true;
  }
  const std::string& failed() const { return failed_; }

 private:
  void entered(const __ptrace_syscall_info& call) {
    if (!counts(pid_, call) || ++calls_ != k_) return;
    failed_ = describe(pid_, call);
    failing_.emplace(pid_, call);
  }
  void left() {
    if (!failing_) return;
    failing_->answer(error_);
    failing_.reset();
    active_ = false;
  }

  const pid_t pid_;
  bool active_ = false;
  long k_ = 0;
  int error_ = 0;
  long calls_ = 0;
  std::string failed_;
  std::optional<FailedCall> failing_;
};

pid_t start(char** arguments) {
  const pid_t pid = fork();
  if (pid < 0) die("inject_marked: fork");
  if (pid != 0) return pid;
  ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
  raise(SIGSTOP);  // until the tracer has said what it wants
  execvp(arguments[0], arguments);
  die(arguments[0]);
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) {
    std::fprintf(stderr, "usage: inject_marked COMMAND [ARGUMENT]...\n");
    return 126;
  }
  const pid_t pid = start(arguments + 1);
  int status = 0;
  waitpid(pid, &status, 0);
  if (ptrace(PTRACE_SETOPTIONS, pid, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL) != 0)
    die("inject_marked: trace");
  Tracer tracer(pid);
  for (int signal = 0;;) {
    ptrace(tracer.step(), pid, nullptr, static_cast<long>(signal));
    if (waitpid(pid, &status, 0) < 0) die("inject_marked: waitpid");
    if (!WIFSTOPPED(status)) break;
    signal = WSTOPSIG(status);
    if (signal == (SIGTRAP | 0x80)) tracer.stopped_at_call();
    if (signal == (SIGTRAP | 0x80) || signal == SIGTRAP) signal = 0;  // SIGTRAP: execve(2)
    if (signal == kMarkSignal && tracer.take_mark()) signal = 0;
  }
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  std::fprintf(stderr, "inject_marked: ended by signal %d after \"%s\" had failed\n", WTERMSIG(status),
               tracer.failed().c_str());
  return 128 + WTERMSIG(status);
}

// inject: runs a command and, at its K-th system call, kills it or answers the call with an error.
//
//   inject K kill|kill-before-change|ERRNO REPORT COMMAND [ARGUMENT]...
//
// The calls of the command's own process count, from the first after execve() on; its children run untraced.
// The call at which it is stopped is not done: a kill after call K is the kill before call K+1. REPORT gets
// one line, "CALL" (a name, say "openat") if the K-th call was reached, "- N" if the command made N calls
// only, "hung CALL" if it had not ended in time and was killed. The exit status is the command's, 128 and the
// signal's number if a signal ended it.
//
// kill-before-change counts those calls only that may change something outside of the process, or in which it
// waits for somebody who does. Before any other call the world is as it was before the last one that counts,
// so that a kill there is no other trial.
#include "tests/inject/calls.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <string>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace vfrail::test;

// Longer than anything that vfrail-cni waits for by itself when no other process is in its way (5 s).
constexpr unsigned kLimitSeconds = 25;

volatile std::sig_atomic_t out_of_time = 0;
void on_alarm(int) { out_of_time = 1; }

struct ErrnoName {
  const char* name;
  int number;
};
constexpr ErrnoName kErrnos[] = {
    {"EIO", EIO}, {"ENOSPC", ENOSPC}, {"EBUSY", EBUSY}, {"ENOMEM", ENOMEM}, {"EINTR", EINTR}};

constexpr const char* kKillBeforeChange = "kill-before-change";

// 0 for a kill, which is none; -1 for a word that is neither.
int errno_of(const std::string& word) {
  if (word == "kill" || word == kKillBeforeChange) return 0;
  for (const ErrnoName& one : kErrnos) {
    if (word == one.name) return one.number;
  }
  return -1;
}

// What is not in this list may change something, and so may what waits: poll(2), wait4(2).
bool only_looks(const __ptrace_syscall_info& call) {
  switch (call.entry.nr) {
    case SYS_openat:
      return (call.entry.args[2] & (O_CREAT | O_TRUNC)) == 0 && (call.entry.args[2] & O_TMPFILE) != O_TMPFILE;
    case SYS_read:
    case SYS_pread64:
    case SYS_close:
    case SYS_fstat:
    case SYS_newfstatat:
    case SYS_getdents64:
    case SYS_readlink:
    case SYS_readlinkat:
    case SYS_access:
    case SYS_faccessat:
    case SYS_faccessat2:
    case SYS_lseek:
    case SYS_mmap:
    case SYS_munmap:
    case SYS_mprotect:
    case SYS_brk:
    case SYS_arch_prctl:
    case SYS_set_tid_address:
    case SYS_set_robust_list:
    case SYS_rseq:
    case SYS_prlimit64:
    case SYS_getrandom:
    case SYS_rt_sigaction:
    case SYS_rt_sigprocmask:
    case SYS_fcntl:
    case SYS_socket:
    case SYS_bind:
    case SYS_getsockname:
    case SYS_setsockopt:
    case SYS_recvmsg:
    case SYS_recvfrom:
    case SYS_getpid:
    case SYS_geteuid:
    case SYS_getuid:
      return true;
    default:
      return false;
  }
}

class Command {
 public:
  explicit Command(char** arguments) : pid_(fork()) {
    if (pid_ < 0) die("inject: fork");
    if (pid_ != 0) return;
    ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    raise(SIGSTOP);  // until the tracer has said what it wants
    execvp(arguments[0], arguments);
    die(arguments[0]);
  }

  // Runs on to its next stop; false when it has ended.
  bool wait() {
    while (waitpid(pid_, &status_, 0) < 0) {
      if (errno != EINTR) die("inject: waitpid");
      if (out_of_time) kill();  // its end is the next event
    }
    return WIFSTOPPED(status_);
  }
  void go_on(__ptrace_request request, int signal = 0) const {
    // It can have been killed meanwhile; wait() shows it.
    ptrace(request, pid_, nullptr, static_cast<long>(signal));
  }
  bool at_exec() const { return status_ >> 8 == (SIGTRAP | (PTRACE_EVENT_EXEC << 8)); }
  bool at_call() const { return WSTOPSIG(status_) == (SIGTRAP | 0x80); }
  int signal() const { return WSTOPSIG(status_); }
  void kill() const { ::kill(pid_, SIGKILL); }
  pid_t pid() const { return pid_; }
  int exit_status() const { return WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_); }

  __ptrace_syscall_info call() const {
    __ptrace_syscall_info info{};
    if (ptrace(PTRACE_GET_SYSCALL_INFO, pid_, sizeof info, &info) < 0) info.op = 0;
    return info;
  }

 private:
  pid_t pid_;
  int status_ = 0;
};

// Up to the first instruction of the program itself.
void start(Command& command) {
  command.wait();
  const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
  if (ptrace(PTRACE_SETOPTIONS, command.pid(), nullptr, options) != 0) die("inject: trace");
  do {
    command.go_on(PTRACE_CONT);
    if (!command.wait()) std::exit(command.exit_status());
  } while (!command.at_exec());
}

// Returns when the command has ended, with the line for REPORT.
std::string run(Command& command, long k, const std::string& what) {
  const int error = errno_of(what);
  long calls = 0;
  std::string last;
  bool hit = false;
  std::optional<FailedCall> failing;
  start(command);
  for (int signal = 0;;) {
    // Nothing to see any more once the call has been answered.
    command.go_on(!hit || failing ? PTRACE_SYSCALL : PTRACE_CONT, signal);
    if (!command.wait()) break;
    signal = command.at_call() ? 0 : command.signal();
    if (!command.at_call()) continue;
    const __ptrace_syscall_info call = command.call();
    if (call.op != PTRACE_SYSCALL_INFO_ENTRY) {
      if (failing) failing->answer(error);
      failing.reset();
      continue;
    }
    if (what == kKillBeforeChange && only_looks(call)) continue;
    last = call_name(static_cast<long>(call.entry.nr));
    hit = ++calls == k;
    if (!hit) continue;
    if (error == 0) command.kill();
    if (error != 0) failing.emplace(command.pid(), call);
  }
  if (out_of_time) return "hung " + last;
  return hit ? last : "- " + std::to_string(calls);
}

}  // namespace

int main(int count, char** arguments) {
  const long k = count > 1 ? std::atol(arguments[1]) : 0;
  if (count < 5 || k < 1 || errno_of(arguments[2]) < 0) {
    std::fprintf(stderr,
                 "usage: inject K kill|kill-before-change|EIO|ENOSPC|EBUSY|ENOMEM|EINTR REPORT COMMAND "
                 "[ARGUMENT]...\n");
    return 126;
  }
  struct sigaction action {};
  action.sa_handler = on_alarm;  // without SA_RESTART: it interrupts waitpid()
  sigaction(SIGALRM, &action, nullptr);
  Command command(arguments + 4);
  alarm(kLimitSeconds);
  const std::string line = run(command, k, arguments[2]);
  std::FILE* report = std::fopen(arguments[3], "we");
  if (report == nullptr || std::fprintf(report, "%s\n", line.c_str()) < 0 || std::fclose(report) != 0)
    die("inject: write the report");
  return command.exit_status();
}

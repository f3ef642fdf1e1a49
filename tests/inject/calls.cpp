#include "tests/inject/calls.h"

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <sys/syscall.h>
#include <sys/user.h>

#ifndef __x86_64__
#error "inject writes x86-64 registers; for another architecture FailedCall is to be written"
#endif

namespace vfrail::test {

namespace {

struct CallName {
  long number;
  const char* name;
};
// What a small static program makes; others show as numbers.
#define CALL(call) \
  { SYS_##call, #call }
constexpr CallName kCalls[] = {CALL(access),
                               CALL(arch_prctl),
                               CALL(bind),
                               CALL(brk),
                               CALL(chmod),
                               CALL(clock_nanosleep),
                               CALL(clone),
                               CALL(clone3),
                               CALL(close),
                               CALL(dup),
                               CALL(dup2),
                               CALL(exit_group),
                               CALL(faccessat2),
                               CALL(fchmod),
                               CALL(fcntl),
                               CALL(flock),
                               CALL(fstat),
                               CALL(fsync),
                               CALL(futex),
                               CALL(getdents64),
                               CALL(getpid),
                               CALL(getrandom),
                               CALL(getsockname),
                               CALL(getsockopt),
                               CALL(geteuid),
                               CALL(gettid),
                               CALL(getuid),
                               CALL(ioctl),
                               CALL(kill),
                               CALL(link),
                               CALL(linkat),
                               CALL(lseek),
                               CALL(lstat),
                               CALL(mkdir),
                               CALL(mmap),
                               CALL(mprotect),
                               CALL(mremap),
                               CALL(munmap),
                               CALL(newfstatat),
                               CALL(open),
                               CALL(openat),
                               CALL(memfd_create),
                               CALL(pipe2),
                               CALL(poll),
                               CALL(prctl),
                               CALL(prlimit64),
                               CALL(read),
                               CALL(readlink),
                               CALL(readlinkat),
                               CALL(recvmsg),
                               CALL(rename),
                               CALL(rmdir),
                               CALL(rseq),
                               CALL(rt_sigaction),
                               CALL(rt_sigprocmask),
                               CALL(sendmsg),
                               CALL(sendto),
                               CALL(set_robust_list),
                               CALL(set_tid_address),
                               CALL(setns),
                               CALL(setsockopt),
                               CALL(socket),
                               CALL(stat),
                               CALL(symlink),
                               CALL(tgkill),
                               CALL(uname),
                               CALL(unlink),
                               CALL(unlinkat),
                               CALL(wait4),
                               CALL(write)};
#undef CALL

void set_register(pid_t pid, size_t place, long value) {
  if (ptrace(PTRACE_POKEUSER, pid, place, value) != 0) die("inject: write a register");
}

}  // namespace

std::string call_name(long number) {
  for (const CallName& call : kCalls) {
    if (call.number == number) return call.name;
  }
  return "call-" + std::to_string(number);
}

[[noreturn]] void die(const char* what) {
  std::perror(what);
  std::exit(126);
}

FailedCall::FailedCall(pid_t pid, const __ptrace_syscall_info& call)
    : pid_(pid), is_brk_(call.entry.nr == SYS_brk), argument_(static_cast<long>(call.entry.args[0])) {
  set_register(pid, is_brk_ ? offsetof(user, regs.rdi) : offsetof(user, regs.orig_rax), is_brk_ ? 0 : -1);
}

void FailedCall::answer(int error) const {
  if (is_brk_) {
    set_register(pid_, offsetof(user, regs.rdi), argument_);
  } else {
    set_answer(pid_, -static_cast<long>(error));
  }
}

void set_answer(pid_t pid, long value) { set_register(pid, offsetof(user, regs.rax), value); }

}  // namespace vfrail::test

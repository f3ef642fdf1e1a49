// What both injectors know of system calls: their names, and how one is made to fail from outside. x86-64.
#pragma once

#include <string>
#include <sys/ptrace.h>
#include <sys/types.h>

namespace vfrail::test {

// "openat"; "call-441" for one that is not in the list.
std::string call_name(long number);

// Ends the process with 126 and errno's text.
[[noreturn]] void die(const char* what);

// One system call that shall fail.
class FailedCall {
 public:
  // At its entry: it is not done, because the kernel has no call with the number -1. But brk() has no errno:
  // when it fails it answers with the break as it is (brk(2)), which is what brk(0) does; an errno would be
  // an address.
  FailedCall(pid_t pid, const __ptrace_syscall_info& call);
  // At its exit. A call leaves its argument in the register, and the C library's brk() reads it.
  void answer(int error) const;

 private:
  pid_t pid_;
  bool is_brk_;
  long argument_;
};

// The call's answer, at its exit.
void set_answer(pid_t pid, long value);

}  // namespace vfrail::test

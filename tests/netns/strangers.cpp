#include "tests/netns/strangers.h"

#include "tests/support/places.h"

#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <functional>
#include <sched.h>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace vfrail::test {

namespace {

void must(bool holds) {
  if (!holds) ::_exit(1);
}

// A process group that runs `work`, says when it is ready, and then waits for its end.
pid_t start(const std::function<void()>& work) {
  int ready[2];
  if (::pipe2(ready, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    work();
    must(::write(ready[1], "", 1) == 1);
    for (;;) ::pause();
  }
  ::setpgid(pid, pid);
  ::close(ready[1]);
  char byte = 0;
  const bool is_ready = ::read(ready[0], &byte, 1) == 1;
  ::close(ready[0]);
  if (!is_ready) throw std::runtime_error("strangers: errno " + std::to_string(errno));
  return pid;
}

void end(pid_t leader) {
  if (leader <= 0) return;
  ::kill(-leader, SIGKILL);
  ::waitpid(leader, nullptr, 0);
}

// They share the memory of their parent, which makes them cheap.
int stay(void* netns) {
  if (netns != nullptr && ::unshare(CLONE_NEWNET) != 0) ::_exit(1);
  for (;;) ::pause();
}

void become_crowd(int processes, int namespaces) {
  constexpr size_t kStack = 16384;
  for (int i = 0; i < processes; ++i) {
    void* stack = ::mmap(nullptr, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must(stack != MAP_FAILED);
    static char in_own;
    must(::clone(stay, static_cast<char*>(stack) + kStack, CLONE_VM | SIGCHLD,
                 i < namespaces ? &in_own : nullptr) > 0);
  }
}

void become_root_of_user_namespace() {
  const uid_t user = 12345;
  must(::setresgid(user, user, user) == 0 && ::setresuid(user, user, user) == 0);
  ::prctl(PR_SET_DUMPABLE, 1);
  must(::unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0);
  write_text("/proc/self/setgroups", "deny");
  write_text("/proc/self/uid_map", "0 " + std::to_string(user) + " 1");
  write_text("/proc/self/gid_map", "0 " + std::to_string(user) + " 1");
}

// A network namespace that no process is in, mounted below another mount.
void cover_a_namespace() {
  must(::mkdir("closed", 0700) == 0);
  write_text("closed/netns", "");
  const pid_t pid = ::fork();
  if (pid == 0) {
    must(::unshare(CLONE_NEWNET) == 0);
    must(::mount("/proc/self/ns/net", "closed/netns", nullptr, MS_BIND, nullptr) == 0);
    ::_exit(0);
  }
  int status = 0;
  must(::waitpid(pid, &status, 0) == pid && status == 0);
  must(::mount("none", "closed", "tmpfs", 0, nullptr) == 0);
}

void become_hostile(const Strangers::Counts& counts) {
  become_root_of_user_namespace();
  must(::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0);
  must(::mount("none", "/tmp", "tmpfs", 0, nullptr) == 0);
  must(::chdir("/tmp") == 0);
  if (counts.closed) cover_a_namespace();
  for (int i = 0; i < counts.depth; ++i) must(::mkdir("d", 0700) == 0 && ::chdir("d") == 0);
  for (int i = 0; i < counts.mounts; ++i) {
    const std::string name = std::to_string(i);
    must(::mkdir(name.c_str(), 0700) == 0);
    must(::mount(name.c_str(), name.c_str(), nullptr, MS_BIND, nullptr) == 0);
  }
  must(::chdir("/tmp") == 0);
  for (int i = 0; i < counts.roots; ++i) {
    if (i < counts.depth) must(::chdir("d") == 0);
    const pid_t pid = ::fork();
    must(pid >= 0);
    if (pid == 0) {
      must(::chroot(".") == 0);
      for (;;) ::pause();
    }
  }
}

}  // namespace

Strangers::Strangers(const Node& node, const Counts& counts) {
  std::filesystem::remove_all(node.path("root/proc"));
  std::filesystem::create_directory_symlink("/proc", node.path("root/proc"));
  crowd_ = start([&] { become_crowd(counts.processes, counts.namespaces); });
  hostile_ = start([&] { become_hostile(counts); });
}

Strangers::~Strangers() {
  end(hostile_);
  end(crowd_);
}

}  // namespace vfrail::test

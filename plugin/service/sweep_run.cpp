#include "plugin/service/sweep_run.h"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

extern char** environ;

namespace vfrail::plugin {

namespace {

constexpr size_t kMostOutput = 16 * 1024;

// glibc 2.36 declares pidfd_open() for C only.
UniqueFd open_process(pid_t pid) { return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))); }

// The child's streams, and none of our blocked and ignored signals.
class Setting {
 public:
  explicit Setting(int output) {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions_, output, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions_, output, STDERR_FILENO);
    ::posix_spawnattr_init(&attributes_);
    sigset_t none;
    sigset_t pipe;
    ::sigemptyset(&none);
    ::sigemptyset(&pipe);
    ::sigaddset(&pipe, SIGPIPE);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setsigdefault(&attributes_, &pipe);
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;
  ~Setting() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }

  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

}  // namespace

Result<SweepRun> SweepRun::start(const std::string& program) {
  UniqueFd output(::memfd_create("sweep", MFD_CLOEXEC));
  if (!output.valid()) return Error::from_errno(errno, "make a memfd");
  const Setting setting(output.get());
  std::string name = program;
  std::string verb = "sweep";
  char* argv[] = {name.data(), verb.data(), nullptr};
  // A parent may have started us with SIGCHLD ignored, which execve() keeps: the kernel would reap the sweep,
  // and its exit code would be lost.
  ::signal(SIGCHLD, SIG_DFL);
  pid_t pid = 0;
  const int error =
      ::posix_spawn(&pid, program.c_str(), setting.actions(), setting.attributes(), argv, environ);
  if (error != 0) return Error::from_errno(error, "start " + program + " sweep");
  SweepRun out(pid, open_process(pid), std::move(output));
  if (!out.process_.valid()) return Error::from_errno(errno, "watch " + program + " sweep");
  return out;
}

SweepRun::SweepRun(SweepRun&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)),
      process_(std::move(other.process_)),
      output_(std::move(other.output_)) {}

SweepRun::~SweepRun() {
  if (pid_ == 0) return;
  ::kill(pid_, SIGKILL);
  (void)reap();
}

int SweepRun::reap() const {
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

SweepRun::Outcome SweepRun::finish() {
  const int status = reap();
  pid_ = 0;
  Outcome out;
  if (WIFEXITED(status)) out.exit_code = WEXITSTATUS(status);
  out.output.resize(kMostOutput);
  const ssize_t got = ::pread(output_.get(), out.output.data(), out.output.size(), 0);
  out.output.resize(got < 0 ? 0 : static_cast<size_t>(got));
  return out;
}

}  // namespace vfrail::plugin

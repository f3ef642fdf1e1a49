#include "plugin/provision/timed_write.h"

#include "common/unique_fd.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace vfrail::plugin {

namespace {

using Clock = std::chrono::steady_clock;

// A child that was killed is gone at once, unless it is in the kernel.
constexpr std::chrono::milliseconds kReapAtMost{200};

// The locks and pipes of the parent, which a child that hangs must not keep. Without close_range (before
// Linux 5.9) it keeps them.
void close_others(int kept) {
#ifdef SYS_close_range
  const auto fd = static_cast<unsigned>(kept);
  if (fd > 3) ::syscall(SYS_close_range, 3U, fd - 1, 0U);
  ::syscall(SYS_close_range, fd + 1, ~0U, 0U);
#else
  (void)kept;
#endif
}

// In the child of a process with threads: system calls alone. Sends its errno, 0 for none.
[[noreturn]] void write_in_child(const char* path, std::string_view text, int answer) {
  close_others(answer);
  int error = 0;
  const int fd = ::open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) {
    error = errno;
  } else {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0) error = errno;
    if (written >= 0 && written != static_cast<ssize_t>(text.size())) error = EIO;
  }
  const ssize_t sent = ::write(answer, &error, sizeof error);
  ::_exit(sent == sizeof error ? 0 : 1);
}

// No value: the deadline passed.
std::optional<int> read_answer(int fd, Clock::time_point deadline) {
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd ready{fd, POLLIN, 0};
    const int found = ::poll(&ready, 1, static_cast<int>(std::max<int64_t>(left, 0)));
    if (found < 0 && errno == EINTR) continue;
    if (found <= 0) return std::nullopt;
    int error = 0;
    const ssize_t got = ::read(fd, &error, sizeof error);
    return got == sizeof error ? error : EIO;  // the child was killed
  }
}

void reap(pid_t child, Clock::time_point deadline) {
  while (::waitpid(child, nullptr, WNOHANG) == 0) {
    if (Clock::now() >= deadline) return;
    ::usleep(1000);
  }
}

}  // namespace

Result<> timed_write(const std::string& path, std::string_view text, std::chrono::milliseconds at_most) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return Error::from_errno(errno, "make a pipe to write " + path);
  const UniqueFd answer(ends[0]);
  UniqueFd to_parent(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return Error::from_errno(errno, "start a process to write " + path);
  if (child == 0) write_in_child(path.c_str(), text, to_parent.get());
  to_parent = UniqueFd();
  const auto error = read_answer(answer.get(), Clock::now() + at_most);
  if (!error) ::kill(child, SIGKILL);
  reap(child, Clock::now() + kReapAtMost);
  if (error == 0) return {};
  const std::string what = "write " + std::string(text) + " to " + path;
  if (error) return Error::from_errno(*error, what);
  return Error{Errc::timeout, 0,
               what + ": it has not returned after " + std::to_string(at_most.count() / 1000) +
                   " s and hangs in the driver; see dmesg"};
}

}  // namespace vfrail::plugin

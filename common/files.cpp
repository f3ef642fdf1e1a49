#include "common/files.h"

#include "common/errors/error_id.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>

namespace vfrail {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

constexpr int kMaxRefusals = 3;
constexpr size_t kMaxHolder = 300;

// The previous holder has removed the file: nobody else will find the one that was locked.
bool is_at(const struct stat& locked, const std::string& path) {
  struct stat there {};
  return ::lstat(path.c_str(), &there) == 0 && locked.st_ino == there.st_ino && locked.st_dev == there.st_dev;
}

// For the error of those who wait in vain, so a full disk does not prevent the lock.
void write_holder(int fd, const struct stat& locked, const std::string& purpose) {
  const std::string text = "process " + std::to_string(::getpid()) + " (" + program_invocation_short_name +
                           (purpose.empty() ? ")" : "), " + purpose);
  // A holder that was killed has left its own text.
  if (locked.st_size == 0 || ::ftruncate(fd, 0) == 0)
    (void)!::pwrite(fd, text.data(), std::min(text.size(), kMaxHolder), 0);
}

// "for 12 s by process 4711 (vfrail), DEL of net1 of container c1"; the file's time is that of
// write_holder().
std::string read_holder(int fd) {
  char text[kMaxHolder];
  struct stat info {};
  timespec now{};
  const ssize_t size = ::pread(fd, text, sizeof text, 0);
  if (size <= 0 || ::fstat(fd, &info) != 0 || ::clock_gettime(CLOCK_REALTIME, &now) != 0)
    return "by another process";
  std::string out(text, static_cast<size_t>(size));
  std::replace_if(
      out.begin(), out.end(), [](unsigned char c) { return c < ' ' || c > '~'; }, '?');
  return "for " + std::to_string(std::max<time_t>(0, now.tv_sec - info.st_mtim.tv_sec)) + " s by " + out;
}

}  // namespace

Result<FileLock> FileLock::acquire(const std::string& path, milliseconds wait_at_most,
                                   const LockPurpose& purpose) {
  const std::string& file = purpose.file.empty() ? path : purpose.file;
  // flock has no deadline of its own, so poll, from 1 ms up: a holder keeps it for some 20 ms.
  const auto deadline = steady_clock::now() + wait_at_most;
  int refusals = 0;
  for (milliseconds pause{1};;) {
    UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd.valid()) return Error::from_errno(errno, "open lock " + file);
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) {
      struct stat locked {};
      if (::fstat(fd.get(), &locked) != 0 || !is_at(locked, path)) continue;
      write_holder(fd.get(), locked, purpose.text);
      return FileLock(std::move(fd), path);
    }
    // ENOLCK means out of memory. Giving up would leave the file there, which only a holder may remove.
    if (errno != EWOULDBLOCK && ++refusals == kMaxRefusals) return Error::from_errno(errno, "lock " + file);
    if (steady_clock::now() >= deadline) {
      return Error{Errc::busy, EWOULDBLOCK,
                   "lock " + file + " has been held " + read_holder(fd.get()) + "; waited " +
                       std::to_string(wait_at_most.count()) + " ms for it",
                   ErrorId::lock_held};
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, milliseconds{20});
  }
}

bool FileLock::is_held(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  return fd.valid() && ::flock(fd.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

FileLock::~FileLock() {
  // Still locked here, so that whoever opens the file now notices in is_at(). Twice, because otherwise an
  // attachment would leave this file on a node.
  if (fd_.valid() && ::unlink(path_.c_str()) != 0 && errno != ENOENT) ::unlink(path_.c_str());
}

Result<> write_stream(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Error::from_errno(errno, "");
    content.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

Result<> write_file(const std::string& path, std::string_view content, unsigned mode, Durability durability) {
  // A name for each thread: two threads of the device plugin can write the same file.
  return write_file({path, path + ".new." + std::to_string(::gettid())}, content, mode, durability);
}

Result<> write_file(const Replacement& file, std::string_view content, unsigned mode, Durability durability) {
  const auto& [path, temporary, marks_unread] = file;
  UniqueFd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode));
  if (!fd.valid()) return Error::from_errno(errno, "create " + temporary);
  auto written = write_stream(fd.get(), content);
  if (!written) written = std::move(written.error()).in("write " + temporary);
  // The umask may have taken bits away that others need (0444 device-info files).
  if (written && ::fchmod(fd.get(), mode) != 0) written = Error::from_errno(errno, "chmod " + temporary);
  if (written && marks_unread) {
    const timespec times[2] = {{0, 0}, {0, UTIME_OMIT}};
    (void)!::futimens(fd.get(), times);  // without it the file only seems to have been read
  }
  if (written && durability == Durability::synced && ::fsync(fd.get()) != 0) {
    written = Error::from_errno(errno, "fsync " + temporary);
  }
  fd.reset();
  if (written && ::rename(temporary.c_str(), path.c_str()) != 0) {
    written = Error::from_errno(errno, "rename " + temporary + " to " + path);
  }
  if (!written) ::unlink(temporary.c_str());
  return written;
}

Result<> write_attribute(const std::string& path, std::string_view text) {
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd.valid()) return Error::from_errno(errno, "open " + path);
  const ssize_t written = ::write(fd.get(), text.data(), text.size());
  if (written == static_cast<ssize_t>(text.size())) return {};
  return Error::from_errno(written < 0 ? errno : EIO, "write " + path);
}

UniqueFd open_keeping(int folder, const std::string& path, int flags, AccessTime access_time) {
  if (access_time == AccessTime::kept) {
    UniqueFd fd(::openat(folder, path.c_str(), flags | O_NOATIME));
    if (fd.valid() || errno != EPERM) return fd;
  }
  return UniqueFd(::openat(folder, path.c_str(), flags));
}

Result<std::optional<std::string>> read_file(const std::string& path, size_t limit_bytes,
                                             AccessTime access_time) {
  const UniqueFd fd =
      open_keeping(AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, access_time);
  if (!fd.valid()) {
    if (errno == ENOENT || errno == ENOTDIR) return std::optional<std::string>();
    return Error::from_errno(errno, "open " + path);
  }
  return std::optional<std::string>(TRY(read_stream(fd.get(), limit_bytes), "read " + path));
}

Result<UniqueFd> open_for_reading(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return Error::from_errno(errno, "open " + path);
  return fd;
}

Result<std::string> read_stream(int fd, size_t limit_bytes) {
  std::string out;
  char buffer[8192];
  for (;;) {
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error::from_errno(errno, "");
    if (got == 0) return out;
    out.append(buffer, static_cast<size_t>(got));
    if (out.size() > limit_bytes) {
      return Error{Errc::invalid, 0, "more than the " + std::to_string(limit_bytes) + " bytes allowed"};
    }
  }
}

Result<> remove_file(const std::string& path) {
  if (::unlink(path.c_str()) == 0 || errno == ENOENT || errno == ENOTDIR) return {};
  return Error::from_errno(errno, "remove " + path);
}

Result<> make_folder(const std::string& path, unsigned mode) {
  for (size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    if (::mkdir(part.c_str(), mode) != 0 && errno != EEXIST) {
      return Error::from_errno(errno, "create folder " + part);
    }
    if (slash == std::string::npos) return {};
  }
}

}  // namespace vfrail

#include "common/files.h"

#include "common/errors/error_id.h"

#include <algorithm>
#include <cerrno>
#include <climits>
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

std::string shown_path(const std::string& path) {
  constexpr std::string_view kDescriptors = "/proc/self/fd/";
  if (!path.starts_with(kDescriptors)) return path;
  const size_t end = std::min(path.find('/', kDescriptors.size()), path.size());
  char folder[PATH_MAX];
  const ssize_t size = ::readlink(path.substr(0, end).c_str(), folder, sizeof folder);
  if (size <= 0 || size == sizeof folder) return path;
  return std::string(folder, static_cast<size_t>(size)) + path.substr(end);
}

namespace {

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISLNK(mode)) return "a symbolic link";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device node";
}

Error not_regular(const std::string& what, mode_t mode) {
  return Error{Errc::protocol, 0, shown_path(what) + " is " + kind_of(mode) + " and not a regular file"};
}

Error second_name(const std::string& what) {
  return Error{Errc::protocol, 0,
               shown_path(what) + " is a file that has another name as well (a hard link)"};
}

}  // namespace

namespace {

// What it is, if that is a regular file.
Result<struct stat> read_regular(int fd, SecondName second, const std::string& what) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return Error::from_errno(errno, "read the type of " + what);
  if (!S_ISREG(info.st_mode)) return not_regular(what, info.st_mode);
  if (second == SecondName::refused && info.st_nlink > 1) return second_name(what);
  return info;
}

}  // namespace

Result<> check_regular(int fd, SecondName second, const std::string& what) {
  TRY(read_regular(fd, second, what));
  return {};
}

namespace {

// Without the check of what was opened: that is a regular file, or a FIFO or device node, at which nothing
// waits.
Result<UniqueFd> open_unchecked(const std::string& path, int flags, AccessTime access_time, unsigned mode) {
  flags |= O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
  UniqueFd fd = (flags & O_CREAT) != 0 ? UniqueFd(::open(path.c_str(), flags, mode))
                                       : open_keeping(AT_FDCWD, path, flags, access_time);
  if (fd.valid()) return fd;
  const int failed = errno;
  // A link (ELOOP), a folder (EISDIR), a socket or a FIFO without a reader (ENXIO).
  struct stat info {};
  if (failed != ENOENT && ::lstat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode))
    return not_regular(path, info.st_mode);
  return Error::from_errno(failed, "open " + shown_path(path));
}

}  // namespace

Result<UniqueFd> open_regular(const std::string& path, int flags, SecondName second, AccessTime access_time,
                              unsigned mode) {
  UniqueFd fd = TRY(open_unchecked(path, flags, access_time, mode));
  TRY(check_regular(fd.get(), second, path));
  return fd;
}

Result<FileLock> FileLock::acquire(const std::string& path, milliseconds wait_at_most,
                                   const LockPurpose& purpose) {
  const std::string& file = purpose.file.empty() ? path : purpose.file;
  // flock has no deadline of its own, so poll, from 1 ms up: a holder keeps it for some 20 ms.
  const auto deadline = steady_clock::now() + wait_at_most;
  int refusals = 0;
  for (milliseconds pause{1};;) {
    UniqueFd fd = TRY(open_unchecked(path, O_RDWR | O_CREAT, AccessTime::updated, 0600), "open lock " + file);
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) {
      struct stat locked {};
      if (::fstat(fd.get(), &locked) != 0 || !is_at(locked, path)) continue;
      if (!S_ISREG(locked.st_mode)) return not_regular("lock " + file, locked.st_mode);
      if (locked.st_nlink > 1) {  // the other name stays; whoever waits for this file finds the next one
        TRY(remove_file(path));
        continue;
      }
      write_holder(fd.get(), locked, purpose.text);
      return FileLock(std::move(fd), path);
    }
    // ENOLCK means out of memory. Giving up would leave the file there, which only a holder may remove.
    if (errno != EWOULDBLOCK && ++refusals == kMaxRefusals) return Error::from_errno(errno, "lock " + file);
    TRY(check_regular(fd.get(), SecondName::allowed, "lock " + file));
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

namespace {

constexpr int kMostTries = 100;

// A file that is new. `name` is what it has got: beside a folder of that name another one.
Result<UniqueFd> create(std::string& name, unsigned mode) {
  const std::string wanted = name;
  for (int tries = 0; tries < kMostTries; ++tries) {
    UniqueFd fd(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode));
    if (fd.valid() || errno != EEXIST) {
      if (fd.valid()) return fd;
      break;
    }
    if (::unlink(name.c_str()) == 0 || errno == ENOENT) continue;
    if (errno != EISDIR && errno != EPERM) break;
    name = wanted + "." + std::to_string(::gettid()) + "." + std::to_string(tries);
  }
  const int failed = errno;
  return Error::from_errno(failed, "create " + shown_path(name));
}

}  // namespace

Result<> write_file(const Replacement& file, std::string_view content, unsigned mode, Durability durability) {
  const std::string& path = file.path;
  std::string temporary = file.temporary;
  UniqueFd fd = TRY(create(temporary, mode));
  auto written = write_stream(fd.get(), content);
  if (!written) written = std::move(written.error()).in("write " + shown_path(temporary));
  // The umask may have taken bits away that others need (0444 device-info files).
  if (written && ::fchmod(fd.get(), mode) != 0)
    written = Error::from_errno(errno, "chmod " + shown_path(temporary));
  if (written && file.marks_unread) {
    const timespec times[2] = {{0, 0}, {0, UTIME_OMIT}};
    (void)!::futimens(fd.get(), times);  // without it the file only seems to have been read
  }
  if (written && durability == Durability::synced && ::fsync(fd.get()) != 0) {
    written = Error::from_errno(errno, "fsync " + shown_path(temporary));
  }
  fd.reset();
  if (written && ::rename(temporary.c_str(), path.c_str()) != 0) {
    written = Error::from_errno(errno, "rename " + shown_path(temporary) + " to " + shown_path(path));
  }
  if (!written) ::unlink(temporary.c_str());
  return written;
}

Result<> write_attribute(const std::string& path, std::string_view text) {
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd.valid()) return Error::from_errno(errno, "open " + shown_path(path));
  const ssize_t written = ::write(fd.get(), text.data(), text.size());
  if (written == static_cast<ssize_t>(text.size())) return {};
  return Error::from_errno(written < 0 ? errno : EIO, "write " + shown_path(path));
}

UniqueFd open_keeping(int folder, const std::string& path, int flags, AccessTime access_time) {
  if (access_time == AccessTime::kept) {
    UniqueFd fd(::openat(folder, path.c_str(), flags | O_NOATIME));
    if (fd.valid() || errno != EPERM) return fd;
  }
  return UniqueFd(::openat(folder, path.c_str(), flags));
}

namespace {

// Up to the end, or to `size` bytes, behind which there is the end (0: not known).
Result<std::string> read_to_end(int fd, size_t limit_bytes, size_t size) {
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
    if (out.size() == size) return out;
  }
}

}  // namespace

Result<std::optional<std::string>> read_file(const std::string& path, size_t limit_bytes,
                                             AccessTime access_time) {
  const auto fd = open_unchecked(path, O_RDONLY, access_time, 0);
  if (!fd) {
    if (fd.error().sys == ENOENT || fd.error().sys == ENOTDIR) return std::optional<std::string>();
    return fd.error();
  }
  const auto info = TRY(read_regular(fd->get(), SecondName::allowed, path));
  return std::optional(TRY(read_to_end(fd->get(), limit_bytes, static_cast<size_t>(info.st_size)),
                           "read " + shown_path(path)));
}

Result<UniqueFd> open_for_reading(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return Error::from_errno(errno, "open " + shown_path(path));
  return fd;
}

Result<std::string> read_stream(int fd, size_t limit_bytes) { return read_to_end(fd, limit_bytes, 0); }

Result<> remove_file(const std::string& path) {
  if (::unlink(path.c_str()) == 0 || errno == ENOENT || errno == ENOTDIR) return {};
  return Error::from_errno(errno, "remove " + shown_path(path));
}

Result<> move_aside(const std::string& path, const std::string& aside) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return Error::from_errno(errno, "find " + shown_path(path));
  const bool is_file = S_ISREG(info.st_mode);
  std::string to = aside;
  for (int number = 2; number <= kMostTries; ++number) {
    const bool is_free = ::lstat(to.c_str(), &info) != 0;
    if (is_free || (is_file && S_ISREG(info.st_mode))) break;
    to = aside + "." + std::to_string(number);
  }
  if (::rename(path.c_str(), to.c_str()) == 0) return {};
  return Error::from_errno(errno, "rename " + shown_path(path) + " to " + shown_path(to));
}

Result<> free_name(const std::string& path) {
  auto removed = remove_file(path);
  if (removed || (removed.error().sys != EISDIR && removed.error().sys != EPERM)) return removed;
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) return removed;
  return move_aside(path, path + std::string(kAsideEnding));
}

namespace {

std::string identity(const struct stat& info) {
  return std::to_string(info.st_ino) + ":" + std::to_string(info.st_ctim.tv_sec) + "." +
         std::to_string(info.st_ctim.tv_nsec);
}

}  // namespace

std::string identity_of_file(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 ? identity(info) : std::string();
}

Result<bool> remove_same_file(const std::string& path, const std::string& wanted) {
  // Held open, its inode is nobody else's. A rename shows which file it was that had the name.
  const UniqueFd held(::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat info {};
  struct stat taken {};
  if (!held.valid() || ::fstat(held.get(), &info) != 0 || identity(info) != wanted) return false;
  const std::string aside = path + ".ended";
  if (::rename(path.c_str(), aside.c_str()) != 0) {
    if (errno == ENOENT) return false;
    return Error::from_errno(errno, "rename " + shown_path(path) + " to " + shown_path(aside));
  }
  const bool is_it =
      ::lstat(aside.c_str(), &taken) == 0 && taken.st_ino == info.st_ino && taken.st_dev == info.st_dev;
  // link(2) does not replace one that is newer still.
  if (!is_it && ::link(aside.c_str(), path.c_str()) != 0 && errno != EEXIST)
    return Error::from_errno(errno, "put back " + shown_path(path));
  TRY(remove_file(aside));
  return is_it;
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

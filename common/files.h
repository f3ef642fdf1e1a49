// Files that must not be incomplete: bounded reads, atomic writes, locks with a deadline. Whoever else can
// create names in a folder (a FIFO, a link, a folder, a second name of another file) stops nothing that is
// done here, and nothing is written through what he has put there.
#pragma once

#include "common/result.h"
#include "common/unique_fd.h"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace vfrail {

// The path for messages: one by a descriptor of this process (HeldFolder::at()) with what the descriptor is
// open on, all others as they are.
std::string shown_path(const std::string& path);

// What the holder of a lock writes into its file, and the name of the file in errors (empty: its path).
struct LockPurpose {
  std::string text = {};  // "DEL of net1 of container c1"
  std::string file = {};
};

// An flock(2) held on a file, which exists only while it is locked or waited for: removed with the process or
// the object.
class FileLock {
 public:
  // Creates the file (0600). Errc::busy when another process holds it until the deadline; the error has the
  // holder's process id, for how long it has it and its purpose, if the holder could write them. A file with
  // a second name is not written: it is replaced as soon as nobody holds it. Errc::protocol as
  // open_regular().
  static Result<FileLock> acquire(const std::string& path, std::chrono::milliseconds wait_at_most,
                                  const LockPurpose& purpose = {});
  // Whether somebody holds it now. Changes nothing.
  static bool is_held(const std::string& path);
  FileLock(FileLock&& other) noexcept = default;
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();
  // A child that inherits it keeps the lock when this process is killed.
  int fd() const { return fd_.get(); }

 private:
  FileLock(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  UniqueFd fd_;
  std::string path_;
};

enum class Durability : uint8_t { renamed, synced };  // synced: fsync before the rename

// Writes a temporary file in the same folder and renames it over `path`.
Result<> write_file(const std::string& path, std::string_view content, unsigned mode, Durability durability);

// For write_file() with a temporary file of the caller's choice, so that one that a kill has left can be
// found again. What has that name is removed and never opened; beside a folder another name is taken.
struct Replacement {
  std::string path;
  std::string temporary;
  // The access time begins before the modification time, so that the first read always sets it to a later one
  // or, within one tick of the kernel's clock, to the same.
  bool marks_unread = false;
};
Result<> write_file(const Replacement& file, std::string_view content, unsigned mode, Durability durability);

// A file of the kernel (sysfs, procfs) gets the whole text by one write(2), which is one request to it.
// Nothing is created. Refuses symbolic links.
Result<> write_attribute(const std::string& path, std::string_view text);

// What a read makes of a file's access time, which shows others whether the file has been read.
enum class AccessTime : uint8_t { updated, kept };

// open(2), without O_CREAT. The kernel keeps the access time for the file's owner and CAP_FOWNER only
// (O_NOATIME); for others it is updated.
UniqueFd open_keeping(int folder, const std::string& path, int flags, AccessTime access_time);

// Whether a file may have a second name (a hard link), by which writing into it would change another file.
enum class SecondName : uint8_t { allowed, refused };

// open(2) in a folder that others can write to, and the one way to do it: waits for nobody at a FIFO, follows
// no symbolic link, and opens nothing but a regular file. Errc::protocol says what is there instead, or that
// it has a second name.
Result<UniqueFd> open_regular(const std::string& path, int flags, SecondName second,
                              AccessTime access_time = AccessTime::updated, unsigned mode = 0);
// The same of a descriptor; `what` names its file in the error.
Result<> check_regular(int fd, SecondName second, const std::string& what);

// No value if it does not exist. Errc::protocol as open_regular(); refuses more than `limit_bytes`.
Result<std::optional<std::string>> read_file(const std::string& path, size_t limit_bytes,
                                             AccessTime access_time = AccessTime::updated);

Result<UniqueFd> open_for_reading(const std::string& path);

// Everything up to the end of the stream (stdin, a pipe), at most `limit_bytes`.
Result<std::string> read_stream(int fd, size_t limit_bytes);

// Writes all of `content` to a stream (stdout, a pipe).
Result<> write_stream(int fd, std::string_view content);

// Removes a file; a missing one is not an error.
Result<> remove_file(const std::string& path);

// Renames whatever is there, so that it blocks nothing: to `aside`, or, unless both are regular files, to the
// first of "ASIDE.2", "ASIDE.3" ... that is free.
Result<> move_aside(const std::string& path, const std::string& aside);
inline constexpr std::string_view kAsideEnding = ".corrupt";
// Frees the name: removes what has it, whatever it is, but a folder, of which nobody knows what is in it, is
// moved aside to "PATH.corrupt". A missing one is not an error.
Result<> free_name(const std::string& path);

// Differs from that of a later file of the same name, of which a file system may use the inode again. Empty
// if there is none.
std::string identity_of_file(const std::string& path);
// Removes the file if it is still the same. False: it is gone, or another one, which stays, also if that has
// come in between.
Result<bool> remove_same_file(const std::string& path, const std::string& identity);

// Creates the folder and its parents. An existing one is left unchanged.
Result<> make_folder(const std::string& path, unsigned mode);

}  // namespace vfrail

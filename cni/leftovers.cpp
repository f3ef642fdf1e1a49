// The part of RecordStore that tidies up after killed processes.
#include "cni/record.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <filesystem>

namespace vfrail {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kDevices = "devices/";
constexpr std::string_view kLocks = "locks/";
constexpr std::string_view kRdmaLock = "rdma.lock";

// The process that was writing this file ("NAME.new.PID", write_file() and save()).
std::optional<pid_t> writer_of(std::string_view name) {
  constexpr std::string_view kMark = ".new.";
  const size_t at = name.rfind(kMark);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view digits = name.substr(at + kMark.size());
  pid_t pid = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), pid);
  if (error != std::errc() || end != digits.data() + digits.size() || pid <= 0) return std::nullopt;
  return pid;
}

bool is_gone(pid_t pid) { return ::kill(pid, 0) != 0 && errno == ESRCH; }

}  // namespace

bool RecordStore::in_hands(const std::string& device_key) const {
  return FileLock::is_held(folder_ + "/locks/" + device_key);
}

bool RecordStore::is_leftover(const std::string& path) const {
  if (path.starts_with(kLocks) || path == kRdmaLock) return !FileLock::is_held(folder_ + "/" + path);
  if (const auto writer = writer_of(path)) return is_gone(*writer);
  // A record is written before its owner, and removed after it.
  if (!path.starts_with(kDevices)) return false;
  const auto has_it = owner(path.substr(kDevices.size()));
  return has_it && !*has_it;
}

Result<std::vector<std::string>> RecordStore::leftovers() const {
  std::vector<std::string> out;
  for (const char* part : {"attachments/", "devices/", "locks/", ""}) {
    std::error_code error;
    for (fs::directory_iterator at(folder_ + "/" + part, error), end; !error && at != end;
         at.increment(error)) {
      std::string path = part + at->path().filename().string();
      if (is_leftover(path)) out.push_back(std::move(path));
    }
    if (error && error != std::errc::no_such_file_or_directory)
      return Error::from_errno(error.value(), "list " + folder_ + "/" + part);
  }
  std::sort(out.begin(), out.end());
  return out;
}

Result<bool> RecordStore::remove_leftover(const std::string& path) const {
  const std::string file = folder_ + "/" + path;
  // A lock goes when it is let go of, as always. An owner is written under the device's lock only.
  const bool is_lock = path.starts_with(kLocks) || path == kRdmaLock;
  std::optional<FileLock> lock;
  if (is_lock || (path.starts_with(kDevices) && !writer_of(path))) {
    auto taken = is_lock ? FileLock::acquire(file, {})
                         : lock_device(path.substr(kDevices.size()), std::chrono::milliseconds(0));
    if (!taken && taken.error().code == Errc::busy) return false;
    lock.emplace(TRY(std::move(taken), ""));
  }
  if (is_lock) return true;
  if (!is_leftover(path)) return false;
  TRY(remove_file(file), "");
  return true;
}

}  // namespace vfrail

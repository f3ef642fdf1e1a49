// The part of RecordStore that cleans up after killed processes.
#include "cni/record/record.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>

namespace vfrail::cni {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kTemporary = ".new";

// The device whose lock covers a file below devices/.
std::string device_of(const std::string& path) {
  std::string name = path.substr(path.rfind('/') + 1);
  if (name.ends_with(kTemporary)) name.resize(name.size() - kTemporary.size());
  return name;
}

// What was moved aside: never a link, nor a lock's file, which can have such a name, too.
bool is_aside(const fs::directory_entry& entry) {
  std::error_code failed;
  const bool is_odd = !entry.is_symlink(failed) && !entry.is_regular_file(failed);
  return is_odd && entry.path().filename().string().find(kAsideEnding) != std::string::npos;
}

}  // namespace

bool RecordStore::is_locked(const std::string& device_key) const {
  return FileLock::is_held(lock_path(device_key));
}

bool RecordStore::is_lock(const std::string& path) const { return path.starts_with(locks_ + "/"); }

bool RecordStore::is_leftover(const std::string& path) const {
  const std::string name = path.substr(path.rfind('/') + 1);
  if (is_lock(path)) return !FileLock::is_held(lock_path(name));
  // A record is written before its owner, and removed after it.
  const auto has_it = owner(name);
  if (!has_it) return has_it.error().sys == EINVAL;  // no link: what save() was writing
  const auto record = *has_it ? load(**has_it) : Result<std::optional<Record>>(std::nullopt);
  return record && (!*record || (*record)->device_key != name);
}

Result<std::vector<std::string>> RecordStore::leftovers() const {
  std::vector<std::string> out;
  for (const std::string& place : {folder() + "/devices", locks_}) {
    std::error_code error;
    const std::string there = place == locks_ ? lock_path("") : place;
    for (fs::directory_iterator at(there, error), end; !error && at != end; at.increment(error)) {
      const std::string path = place + "/" + at->path().filename().string();
      if (is_aside(*at)) continue;
      const bool busy = !is_lock(path) && is_locked(device_of(path));
      if (!busy && is_leftover(path)) out.push_back(path);
    }
    if (error && error != std::errc::no_such_file_or_directory)
      return Error::from_errno(error.value(), "list " + place);
  }
  std::sort(out.begin(), out.end());
  return out;
}

Result<bool> RecordStore::remove_leftover(const std::string& path) const {
  // A lock's file is removed by releasing it, as always. Files below devices/ are written under the device's
  // lock only.
  auto lock_of =
      is_lock(path) ? lock(path.substr(path.rfind('/') + 1), {}) : lock_device(device_of(path), {});
  if (!lock_of && lock_of.error().code == Errc::busy) return false;
  const FileLock held = TRY(std::move(lock_of));
  if (is_lock(path)) return true;
  if (!is_leftover(path)) return false;
  TRY(free_name(path));
  return true;
}

}  // namespace vfrail::cni

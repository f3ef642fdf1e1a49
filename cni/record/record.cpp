#include "cni/record/record.h"

#include "common/errors/error_id.h"
#include "common/node/unclean.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace vfrail::cni {

namespace fs = std::filesystem;

namespace {

constexpr char kSeparator = ':';

std::string lock_name(const AttachmentName& name) {
  return std::string("attachment") + kSeparator + name.text();
}

std::string ipam_lock_name(const AttachmentName& name) {
  return std::string("ipam") + kSeparator + name.text();
}

// Its mode. No value: it does not exist.
Result<std::optional<mode_t>> check_owner(const std::string& folder) {
  struct stat info {};
  if (::lstat(folder.c_str(), &info) != 0) {
    if (errno == ENOENT) return std::optional<mode_t>();
    return Error::from_errno(errno, "read " + folder);
  }
  if (!S_ISDIR(info.st_mode) && !S_ISLNK(info.st_mode)) return Error::from_errno(ENOTDIR, "open " + folder);
  static const uid_t own = ::geteuid();
  if (S_ISDIR(info.st_mode) && info.st_uid == own) return std::optional(info.st_mode);
  return Error{Errc::denied, 0, folder + " is not a folder of user " + std::to_string(own) + "; remove it",
               ErrorId::state_folder};
}

// The same, and it is created if it does not exist.
Result<mode_t> prepare(const std::string& folder, const char* what) {
  auto mode = TRY(check_owner(folder), what);
  if (!mode) {
    TRY(make_folder(folder, 0700), std::string("prepare ") + what);
    mode = TRY(check_owner(folder), what);
  }
  if (mode) return *mode;
  return Error{Errc::system, ENOENT, std::string(what) + " " + folder + " has been removed",
               ErrorId::state_folder};
}

// Whoever can write here can make root move devices.
Result<> close_to_others(const std::string& folder, mode_t mode) {
  if ((mode & 077) == 0 || ::chmod(folder.c_str(), 0700) == 0) return {};
  return Error::from_errno(errno, "close " + folder + " to other users");
}

}  // namespace

Result<RecordStore> RecordStore::open(std::string folder, std::string locks) {
  constexpr const char* kState = "state folder";
  constexpr const char* kLocks = "folder of locks";
  // The state folder first: only its owner can replace the others in it.
  TRY(close_to_others(folder, TRY(prepare(folder, kState))), kState);
  for (const char* part : {"/attachments", "/devices"}) TRY(prepare(folder + part, kState));
  // BaselineStore creates them when it needs them.
  for (const std::string& part : {folder + "/baselines", unclean_folder(folder)})
    TRY(check_owner(part), kState);
  TRY(close_to_others(locks, TRY(prepare(locks, kLocks))), kLocks);
  auto held = TRY(HeldFolder::open(locks));
  if (!held)
    return Error{Errc::system, ENOENT,
                 std::string(kLocks) + " " + locks + " has been removed meanwhile; try again",
                 ErrorId::state_folder};
  TRY(held->check_owner());
  RecordStore out(std::move(folder), std::move(locks));
  out.held_locks_ = std::make_shared<const HeldFolder>(std::move(*held));
  return out;
}

std::string RecordStore::lock_path(const std::string& name) const {
  return held_locks_ ? held_locks_->at(name) : locks_ + "/" + name;
}

Result<FileLock> RecordStore::lock(const std::string& name, std::chrono::milliseconds wait_at_most) const {
  const auto acquire = [&] {
    return with_id(ErrorId::state_folder,
                   FileLock::acquire(lock_path(name), wait_at_most, {purpose_, locks_ + "/" + name}));
  };
  auto out = acquire();
  if (out || out.error().code != Errc::protocol) return out;
  TRY(with_id(ErrorId::state_folder, free_name(lock_path(name))), out.error().text);
  return acquire();
}

Result<FileLock> RecordStore::lock_attachment(const AttachmentName& name, const std::string& verb,
                                              std::chrono::milliseconds wait_at_most) {
  purpose_ = verb + " of " + name.ifname + " of container " + name.container_id;
  return lock(lock_name(name), wait_at_most);
}

Result<FileLock> RecordStore::lock_rails(const AttachmentName& name, const std::string& verb,
                                         std::chrono::milliseconds wait_at_most) {
  purpose_ = verb + " of all rails of " + name.ifname + " of container " + name.container_id;
  return lock(std::string("rails") + kSeparator + name.text(), wait_at_most);
}

Result<FileLock> RecordStore::lock_rail(const std::string& device_key,
                                        std::chrono::milliseconds wait_at_most) const {
  return lock(std::string("rail") + kSeparator + device_key, wait_at_most);
}

Result<FileLock> RecordStore::lock_pod(const std::string& container_id,
                                       std::chrono::milliseconds wait_at_most) const {
  return lock(std::string("pod") + kSeparator + container_id, wait_at_most);
}

Result<FileLock> RecordStore::lock_device(const std::string& key,
                                          std::chrono::milliseconds wait_at_most) const {
  return lock(key, wait_at_most);
}

Result<FileLock> RecordStore::lock_rdma(std::chrono::milliseconds wait_at_most) const {
  return lock("rdma", wait_at_most);
}

Result<FileLock> RecordStore::lock_ipam(const AttachmentName& name,
                                        std::chrono::milliseconds wait_at_most) const {
  return lock(ipam_lock_name(name), wait_at_most);
}

std::string RecordStore::ipam_lock_file(const AttachmentName& name) const {
  return lock_path(ipam_lock_name(name));
}

bool RecordStore::is_locked(const Record& record) const {
  return is_locked(record.device_key) || FileLock::is_held(lock_path(lock_name(record.attachment)));
}

std::string RecordStore::temporary_path(const std::string& device_key) const {
  return owner_path(device_key) + ".new";
}

Result<> RecordStore::save(const Record& record) const {
  // JSON cannot hold every text that the kernel and the environment can (an alias that is not UTF-8), and an
  // unreadable record does not help DEL: better no attachment.
  const std::string text = format_record(record);
  TRY(with_id(ErrorId::malformed, parse_record(text)), "the record would not be readable");
  TRY(remove_leftovers(record.device_key));
  const std::string temporary = temporary_path(record.device_key);
  const std::string file = record_path(record.attachment);
  const bool is_owner = TRY(owner(record.device_key)) == record.attachment;
  const auto before = is_owner ? std::optional<std::string>() : TRY(read_file(file, kMaxRecordBytes));
  TRY(write_file({file, temporary}, text, 0600, Durability::renamed));
  if (is_owner) return {};
  // A symbolic link is replaced in one step, and its target is all there is to read.
  const std::string path = owner_path(record.device_key);
  if (::symlink(record.attachment.text().c_str(), temporary.c_str()) == 0 &&
      ::rename(temporary.c_str(), path.c_str()) == 0)
    return {};
  Error failure = Error::from_errno(errno, "write owner " + path);
  ::unlink(temporary.c_str());
  if (!before) {
    ::unlink(file.c_str());
    return failure;
  }
  const auto put_back = write_file({file, temporary}, *before, 0600, Durability::renamed);
  return put_back ? failure : std::move(failure).and_also(put_back.error().text);
}

Result<> RecordStore::replace(const Record& record) const {
  return write_file({record_path(record.attachment), temporary_path(record.device_key)},
                    format_record(record), 0600, Durability::renamed);
}

Result<std::optional<AttachmentName>> RecordStore::find_owner(const std::string& device_key) const {
  auto out = owner(device_key);
  if (out || out.error().sys != EINVAL) return out;
  const std::string path = owner_path(device_key);
  TRY(move_aside(path, path + std::string(kAsideEnding)));
  std::vector<AttachmentName> its;
  for (const AttachmentName& name : TRY(list())) {
    const auto record = load(name);
    if (record && *record && (*record)->device_key == device_key) its.push_back(name);
  }
  if (its.size() != 1) return std::optional<AttachmentName>();
  if (::symlink(its.front().text().c_str(), path.c_str()) != 0)
    return Error::from_errno(errno, "write owner " + path);
  return std::optional(its.front());
}

Result<> RecordStore::remove_owner(const Record& record) const {
  if (TRY(owner(record.device_key)) == record.attachment) TRY(remove_file(owner_path(record.device_key)));
  return remove_leftovers(record.device_key);
}

Result<> RecordStore::remove(const Record& record) const {
  const auto now = load(record.attachment);
  if (!now && now.error().code != Errc::protocol) return now.error();
  if (now && *now && **now != record) return {};
  return remove_file(record_path(record.attachment));
}

Result<> RecordStore::remove_leftovers(const std::string& device_key) const {
  return free_name(temporary_path(device_key));
}

Result<> RecordStore::quarantine(const AttachmentName& name) const {
  const std::string path = record_path(name);
  return move_aside(
      path, path.substr(0, path.size() - std::string_view(".json").size()) + std::string(kAsideEnding));
}

}  // namespace vfrail::cni

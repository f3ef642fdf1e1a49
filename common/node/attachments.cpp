#include "common/node/attachments.h"

#include "common/errors/error_id.h"
#include "common/files.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <unistd.h>
#include <utility>

namespace vfrail {

namespace fs = std::filesystem;

Result<std::string> boot_id(const SysRoot& sys) {
  return TRY(sys.text("proc/sys/kernel/random/boot_id")).value_or("");
}

std::string Attachments::record_path(const AttachmentName& name) const {
  return folder_ + "/attachments/" + name.text() + ".json";
}

std::string Attachments::owner_path(const std::string& device_key) const {
  return folder_ + "/devices/" + device_key;
}

Result<std::optional<Record>> Attachments::load(const AttachmentName& name) const {
  const std::string path = record_path(name);
  const auto read = read_file(path, kMaxRecordBytes);
  // It is not a file, or larger than any record.
  if (!read && (read.error().code == Errc::protocol || read.error().code == Errc::invalid))
    return Error{Errc::protocol, 0, "record " + path + " cannot be read: " + read.error().text,
                 ErrorId::record_damaged};
  const auto text = TRY(read);
  if (!text) return std::optional<Record>();
  auto record = parse_record(*text);
  if (!record)
    return Error{Errc::protocol, 0, "record " + path + " cannot be read: " + record.error().text,
                 ErrorId::record_damaged};
  if (record->attachment != name)
    return Error{Errc::protocol, 0, "record " + path + " is of another attachment", ErrorId::record_damaged};
  return std::optional<Record>(std::move(*record));
}

Result<std::vector<AttachmentName>> Attachments::list() const {
  std::vector<AttachmentName> out;
  std::error_code error;
  const std::string folder = folder_ + "/attachments";
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (!name.ends_with(".json")) continue;
    if (auto parsed = AttachmentName::parse(std::string_view(name).substr(0, name.size() - 5))) {
      out.push_back(std::move(*parsed));
    }
  }
  if (error && error != std::errc::no_such_file_or_directory)
    return Error::from_errno(error.value(), "list " + folder);
  std::sort(out.begin(), out.end());
  return out;
}

Result<std::optional<AttachmentName>> Attachments::owner(const std::string& device_key) const {
  char target[512];
  const std::string path = owner_path(device_key);
  const ssize_t size = ::readlink(path.c_str(), target, sizeof target);
  if (size < 0) {
    if (errno == ENOENT) return std::optional<AttachmentName>();
    return Error::from_errno(errno, "read owner " + path);
  }
  auto name = AttachmentName::parse({target, static_cast<size_t>(size)});
  if (!name) return std::optional<AttachmentName>();
  const std::string record = record_path(*name);
  if (::access(record.c_str(), F_OK) == 0) return name;
  // An error is not "nobody": the device of an active attachment would be attached to another pod.
  if (errno != ENOENT) return Error::from_errno(errno, "find " + record);
  return std::optional<AttachmentName>();
}

Result<AttachedDevices> Attachments::owners() const {
  AttachedDevices out;
  std::error_code error;
  const std::string folder = folder_ + "/devices";
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (std::error_code gone; !at->is_symlink(gone)) continue;  // a record that is being written
    std::string key = at->path().filename().string();
    if (auto name = TRY(owner(key))) out.emplace(std::move(key), std::move(*name));
  }
  if (error && error != std::errc::no_such_file_or_directory)
    return Error::from_errno(error.value(), "list " + folder);
  return out;
}

}  // namespace vfrail

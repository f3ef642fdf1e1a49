#include "cni/baseline/baseline_store.h"

#include "common/errors/error_id.h"
#include "common/files.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <unistd.h>

namespace vfrail::cni {

namespace fs = std::filesystem;

namespace {

constexpr size_t kMaxBaselineFileBytes = 1 << 20;  // 3 files for each of 2 * 1,024 queues need a tenth of it
constexpr std::string_view kEnding = ".json";

std::string path_in(const std::string& folder, const std::string& name) {
  return folder + "/" + name + std::string(kEnding);
}

}  // namespace

std::string baseline_name(const std::string& device_key, const std::optional<uint32_t>& port) {
  return device_key + (port.value_or(0) == 0 ? "" : "@" + std::to_string(*port));
}

std::string device_of(const std::string& baseline_name) {
  return baseline_name.substr(0, baseline_name.find('@'));
}

Result<std::optional<Baseline>> BaselineStore::load(const std::string& name) const {
  const std::string path = path_in(folder_ + "/baselines", name);
  const auto text = TRY(read_file(path, kMaxBaselineFileBytes));
  if (!text) return std::optional<Baseline>();
  auto baseline = parse_baseline(*text);
  if (!baseline)
    return Error{Errc::protocol, 0, "baseline " + path + " cannot be read: " + baseline.error().text,
                 ErrorId::record_damaged};
  if (baseline_name(baseline->device_key, baseline->port) != name)
    return Error{Errc::protocol, 0, "baseline " + path + " is of another device", ErrorId::record_damaged};
  return std::optional<Baseline>(std::move(*baseline));
}

Result<> BaselineStore::write(const std::string& folder, const std::string& name,
                              std::string_view text) const {
  if (::access(folder.c_str(), W_OK | X_OK) != 0) {
    TRY(make_folder(folder, 0700), "prepare state folder");
    // `vfrail serve` watches this folder.
    TRY(make_folder(unclean_folder(folder_), 0700), "prepare state folder");
  }
  const std::string path = path_in(folder, name);
  // Without fsync, like records: a boot makes it void.
  auto written = write_file({path, path + ".new"}, text, 0600, Durability::renamed);
  if (written || written.error().sys != EISDIR) return written;
  TRY(free_name(path));
  return write_file({path, path + ".new"}, text, 0600, Durability::renamed);
}

Result<> BaselineStore::save(const std::string& name, const Baseline& baseline) const {
  const std::string text = format_baseline(baseline);
  // JSON cannot hold every text that the kernel can (an alias that is not UTF-8).
  TRY(parse_baseline(text), "the baseline would not be readable");
  return write(folder_ + "/baselines", name, text);
}

Result<bool> BaselineStore::is_unclean(const std::string& name) const {
  const std::string path = path_in(unclean_folder(folder_), name);
  if (::access(path.c_str(), F_OK) == 0) return true;
  if (errno == ENOENT) return false;
  return Error::from_errno(errno, "find " + path);
}

Result<std::optional<UncleanFile>> BaselineStore::load_unclean(const std::string& name) const {
  const std::string path = path_in(unclean_folder(folder_), name);
  const auto text = TRY(read_file(path, kMaxBaselineFileBytes));
  if (!text) return std::optional<UncleanFile>();
  auto file = parse_unclean(*text);
  if (file) return std::optional(std::move(*file));
  return Error{Errc::protocol, 0, path + " cannot be read: " + file.error().text, ErrorId::record_damaged};
}

Result<> BaselineStore::set_unclean(const std::string& name, const std::string& boot_id,
                                    const std::vector<std::string>& reasons) const {
  return write(unclean_folder(folder_), name, format_unclean({boot_id, reasons}));
}

Result<> BaselineStore::set_clean(const std::string& name) const {
  // Checked first: a DEL on a read-only file system mostly has nothing to remove.
  if (!TRY(is_unclean(name))) return {};
  return free_name(path_in(unclean_folder(folder_), name));
}

Result<> BaselineStore::forget(const std::string& name) const {
  TRY(set_clean(name));
  return free_name(path_in(folder_ + "/baselines", name));
}

Result<std::vector<std::string>> BaselineStore::list(const std::string& folder) const {
  std::vector<std::string> out;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.ends_with(kEnding)) out.push_back(name.substr(0, name.size() - kEnding.size()));
  }
  if (error && error != std::errc::no_such_file_or_directory)
    return Error::from_errno(error.value(), "list " + folder);
  std::sort(out.begin(), out.end());
  return out;
}

Result<std::vector<std::string>> BaselineStore::names() const { return list(folder_ + "/baselines"); }

Result<std::vector<std::string>> BaselineStore::unclean_names() const {
  return list(unclean_folder(folder_));
}

}  // namespace vfrail::cni

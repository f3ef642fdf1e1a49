#include "plugin/cdi_folder.h"

#include "common/files.h"

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <unistd.h>

namespace vfrail {

namespace fs = std::filesystem;

namespace {

// A file that is being written has its place within milliseconds; the plugin before us may still be at it.
constexpr std::chrono::minutes kAbandoned{1};

std::vector<std::string> our_files(const std::string& folder) {
  std::vector<std::string> out;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::string name = at->path().filename().string();
    if (name.starts_with(kCdiFilePrefix)) out.push_back(std::move(name));
  }
  return out;
}

// "vfrail-VENDOR-CLASS-ID.json", and of a shared pool "vfrail-VENDOR-CLASS-PREFIX:NAME:ID.json". All but
// CLASS can have '-' in it, and ID ':', so each end is tried.
bool is_of_a_device(const std::string& file, const std::function<bool(const std::string&)>& is_there) {
  const std::string stem = file.substr(0, file.size() - std::string_view(".json").size());
  for (size_t at = stem.find_first_of("-:"); at != std::string::npos; at = stem.find_first_of("-:", at + 1)) {
    if (is_there(stem.substr(at + 1))) return true;
  }
  return false;
}

}  // namespace

Result<> open_cdi_folder(const std::string& folder) {
  auto made = make_folder(folder, 0755);
  if (made && ::access(folder.c_str(), W_OK) != 0) made = Error::from_errno(errno, "write to it");
  if (!made) {
    return std::move(made.error())
        .in("CDI folder " + folder + " (mount the host's there, at the same path; --cdi-dir names another)");
  }
  for (const std::string& name : our_files(folder)) {
    if (name.find(".json.new") == std::string::npos) continue;
    std::error_code gone;
    const auto written = fs::last_write_time(folder + "/" + name, gone);
    if (!gone && fs::file_time_type::clock::now() - written > kAbandoned)
      TRY(remove_file(folder + "/" + name), "");
  }
  return {};
}

Result<> put_cdi_spec(const std::string& folder, const CdiSpec& spec) {
  const std::string path = folder + "/" + spec.file_name();
  return write_cdi_spec(path, path + ".new." + std::to_string(::gettid()), spec);
}

std::vector<std::string> remove_specs_of_gone_devices(
    const std::string& folder, const std::function<bool(const std::string& device_id)>& is_there) {
  std::vector<std::string> out;
  for (const std::string& name : our_files(folder)) {
    if (!name.ends_with(".json") || is_of_a_device(name, is_there)) continue;
    if (remove_file(folder + "/" + name)) out.push_back(name);
  }
  return out;
}

}  // namespace vfrail

#include "plugin/device/allocate/cdi_folder.h"

#include "common/container/allocated_unit.h"
#include "common/errors/error_id.h"
#include "common/files.h"
#include "common/ids.h"
#include "plugin/device/allocate/cdi.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <random>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <thread>
#include <unistd.h>

namespace vfrail::plugin {

namespace fs = std::filesystem;

namespace {

// A file that is being written is renamed within milliseconds; the previous plugin may still write.
constexpr std::chrono::minutes kAbandoned{1};

// An image can take minutes to come.
constexpr time_t kReadWithin = 300;

constexpr std::chrono::milliseconds kProbePause{5};

// Of no device, to see whether somebody reads the folder.
constexpr const char* kProbeKind = "vfrail.io/runtime-check";

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
std::vector<std::string> ends_of(const std::string& file) {
  const std::string stem = file.substr(0, file.size() - std::string_view(".json").size());
  std::vector<std::string> out;
  for (size_t at = stem.find_first_of("-:"); at != std::string::npos; at = stem.find_first_of("-:", at + 1))
    out.push_back(stem.substr(at + 1));
  return out;
}

bool is_of_a_device(const std::string& file, const std::function<bool(const std::string&)>& is_wanted) {
  const auto ends = ends_of(file);
  return std::any_of(ends.begin(), ends.end(), is_wanted);
}

// By the device's id; of a shared pool kubelet names units, any of which may stand for the device.
bool is_used(const std::string& end, const DevicesInUse& in_use) {
  return std::any_of(in_use.resources.begin(), in_use.resources.end(), [&](const auto& resource) {
    std::string shared = resource.first + ":";
    std::replace(shared.begin(), shared.end(), '/', ':');
    return resource.second.contains(end) || (!resource.second.empty() && end.starts_with(shared));
  });
}

bool is_on_node(const std::string& end, const SysRoot& sys) {
  const auto id = DeviceId::parse(end);
  if (!id) return false;
  const char* bus = id->pci() ? "pci" : "auxiliary";
  return sys.exists(std::string("sys/bus/") + bus + "/devices/" + end).value_or(true);
}

// A spec's access time is before its modification time until somebody reads it (write_cdi_spec()); equal:
// read within one tick of the kernel's clock.
bool was_read(const struct stat& spec) {
  return spec.st_atim.tv_sec > spec.st_mtim.tv_sec ||
         (spec.st_atim.tv_sec == spec.st_mtim.tv_sec && spec.st_atim.tv_nsec >= spec.st_mtim.tv_nsec);
}

bool has_access_times(const std::string& folder) {
  struct statvfs mount {};
  return ::statvfs(folder.c_str(), &mount) == 0 && (mount.f_flag & ST_NOATIME) == 0;
}

// The names of all specs of a kind begin so.
std::string prefix_of(const char* kind) {
  std::string name = CdiSpec{kind, "", {}}.file_name();
  name.resize(name.size() - std::string_view(".json").size());
  return name;
}

bool is_of_a_claim(const std::string& file) {
  static const std::string kPrefix = prefix_of(kClaimCdiKind);
  return file.starts_with(kPrefix);
}

bool is_probe(const std::string& file) {
  static const std::string kPrefix = prefix_of(kProbeKind);
  return file.starts_with(kPrefix);
}

bool may_be_needed(const std::string& file, const KnownDevices& known,
                   const std::set<std::string>& of_bundles) {
  return is_of_a_device(file, [&](const std::string& end) {
    return known.there.contains(end) || is_used(end, known.in_use) || of_bundles.contains(end) ||
           is_on_node(end, known.sys);
  });
}

}  // namespace

Result<std::set<std::string>> devices_of_bundles(const DevicesInUse& in_use, const std::string& run_dir) {
  std::set<std::string> out;
  for (const auto& [resource, units] : in_use.resources) {
    for (const auto& [id, container] : units) {
      if (!is_unit(id)) continue;
      for (const AllocatedUnit& unit : TRY(read_allocated_units(run_dir, id))) {
        if (unit.resource != resource) continue;
        for (const DeviceId& device : unit.devices) out.insert(device.text());
      }
    }
  }
  return out;
}

Result<> open_cdi_folder(const std::string& folder) {
  auto made = make_folder(folder, 0755);
  if (made && ::access(folder.c_str(), W_OK) != 0) made = Error::from_errno(errno, "write to it");
  if (!made) {
    return std::move(made.error())
        .in("CDI folder " + folder + " (mount the host's there, at the same path; --cdi-dir names another)");
  }
  for (const std::string& name : our_files(folder)) {
    if (name.find(".json.new") == std::string::npos && !is_probe(name)) continue;
    std::error_code gone;
    const auto written = fs::last_write_time(folder + "/" + name, gone);
    if (!gone && fs::file_time_type::clock::now() - written > kAbandoned)
      TRY(remove_file(folder + "/" + name));
  }
  return {};
}

std::string find_no_reader(const std::string& folder, std::chrono::milliseconds patience) {
  if (!has_access_times(folder)) return "";
  CdiSpec probe{kProbeKind, std::to_string(std::random_device()()), {}};
  probe.edits.env = {{"VFRAIL_RUNTIME_CHECK", "1"}};
  if (const auto put = put_cdi_spec(folder, probe); !put) return put.error().text;
  const std::string path = folder + "/" + probe.file_name();
  const auto deadline = std::chrono::steady_clock::now() + patience;
  bool read = false;
  for (;;) {
    struct stat now {};
    // Gone: another vfrail has cleaned up, and nothing is known.
    read = ::stat(path.c_str(), &now) != 0 || was_read(now);
    if (read || std::chrono::steady_clock::now() >= deadline) break;
    std::this_thread::sleep_for(kProbePause);
  }
  (void)remove_file(path);
  if (read) return "";
  return "no container runtime has read a spec that was written there, as one with CDI does at once "
         "(containerd before 1.7 has none, whatever is configured)";
}

Result<> put_cdi_spec(const std::string& folder, const CdiSpec& spec) {
  const std::string path = folder + "/" + spec.file_name();
  return write_cdi_spec(path, path + ".new." + std::to_string(::gettid()), spec);
}

std::vector<std::string> remove_specs_of_gone_devices(const std::string& folder, const KnownDevices& known) {
  std::vector<std::string> out;
  const auto of_bundles = devices_of_bundles(known.in_use, known.run_dir);
  if (!of_bundles) return out;
  for (const std::string& name : our_files(folder)) {
    if (!name.ends_with(".json") || is_of_a_claim(name) || may_be_needed(name, known, *of_bundles)) continue;
    if (remove_file(folder + "/" + name)) out.push_back(name);
  }
  return out;
}

std::vector<std::string> find_unread_specs(const std::string& folder,
                                           const std::function<bool(const std::string& device_id)>& in_use) {
  if (!has_access_times(folder)) return {};
  const time_t now = ::time(nullptr);
  std::vector<std::string> out;
  for (const std::string& name : our_files(folder)) {
    if (!name.ends_with(".json") || !is_of_a_device(name, in_use)) continue;
    struct stat there {};
    if (::stat((folder + "/" + name).c_str(), &there) != 0 || now - there.st_mtim.tv_sec < kReadWithin)
      continue;
    if (!was_read(there)) out.push_back(name);
  }
  return out;
}

std::vector<Warning> warn_of_unread_specs(const std::string& folder, const DevicesInUse& in_use) {
  const auto is_device_in_use = [&](const std::string& id) {
    return std::any_of(in_use.resources.begin(), in_use.resources.end(),
                       [&](const auto& resource) { return resource.second.contains(id); });
  };
  std::vector<Warning> out;
  for (const std::string& name : find_unread_specs(folder, is_device_in_use))
    out.push_back({"no container runtime has read the CDI spec " + name +
                       " since its device was allocated, so the pod probably has no device nodes; "
                       "enable CDI in the runtime (containerd 2.0, or 1.7 with enable_cdi = true; "
                       "CRI-O 1.23), or set --use-cdi=false",
                   ErrorId::cdi_not_supported});
  return out;
}

}  // namespace vfrail::plugin

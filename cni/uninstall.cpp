#include "cni/uninstall.h"

#include "cni/install.h"
#include "cni/record/record.h"
#include "common/container/allocated_nodes.h"
#include "common/container/cdi_spec.h"
#include "common/errors/error_id.h"
#include "common/programs.h"
#include "common/text.h"

#include <algorithm>
#include <filesystem>

namespace vfrail::cni {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kDeviceFileEnding = ".json";
// An error with all pods of a node would not be read.
constexpr size_t kMostNames = 5;

Error error_of(const std::error_code& code, const std::string& what) {
  return Error::from_errno(code.value(), what);
}

// Empty if there is no such folder.
Result<std::vector<fs::path>> files_of(const std::string& folder) {
  std::vector<fs::path> out;
  std::error_code failed;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed))
    out.push_back(at->path());
  if (failed && failed != std::errc::no_such_file_or_directory) return error_of(failed, "list " + folder);
  std::sort(out.begin(), out.end());
  return out;
}

class Removal {
 public:
  Result<> remove(const fs::path& path) {
    std::error_code failed;
    const auto count = fs::remove_all(path, failed);
    if (failed) return error_of(failed, "remove " + path.string());
    if (count > 0) removed_.push_back(path.string());
    return {};
  }
  std::vector<std::string> take() { return std::move(removed_); }

 private:
  std::vector<std::string> removed_;
};

Result<> refuse_attachments(const UninstallPlaces& places) {
  const auto names = TRY(RecordStore::open_read_only(places.state, places.run + "/locks").list());
  if (names.empty()) return {};
  std::vector<std::string> some;
  for (const AttachmentName& name : names) {
    if (some.size() == kMostNames) {
      some.push_back("...");
      break;
    }
    some.push_back(name.ifname + " of container " + name.container_id);
  }
  return Error{Errc::busy, 0,
               std::to_string(names.size()) + " attachments are recorded (" + joined(some, ", ") +
                   "): delete the pods that have devices; if there are none any more, run " +
                   places.cni_folder.substr(places.root.size()) + "/vfrail sweep on the node",
               ErrorId::attachments_left};
}

// Under any name: networks of host-device and others may use copies.
Result<> remove_executables(const std::string& folder, Removal& removal) {
  for (const fs::path& path : TRY(files_of(folder))) {
    const std::string name = path.filename().string();
    if (name == kCniProgram || name == kCheckProgram || TRY(is_this_program(path.string())))
      TRY(removal.remove(path));
  }
  return {};
}

Result<> remove_cdi_specs(const std::string& folder, Removal& removal) {
  for (const fs::path& path : TRY(files_of(folder))) {
    if (path.filename().string().starts_with(kCdiFilePrefix)) TRY(removal.remove(path));
  }
  return {};
}

// Others write such files too. Those of vfrail are about devices that its plugin has allocated, as the
// records in run/promised show, and, because DEL removes such a record, about those that have been attached
// since the boot, by their baselines.
Result<> remove_device_info(const UninstallPlaces& places, Removal& removal) {
  std::vector<std::string> endings;
  for (const std::string& folder : {places.run + "/" + kAllocatedFolder, places.state + "/baselines"}) {
    for (const fs::path& path : TRY(files_of(folder))) {
      const std::string name = path.filename().string();
      if (!name.ends_with(kDeviceFileEnding)) continue;
      endings.push_back("-" + name.substr(0, name.size() - kDeviceFileEnding.size()) + "-device.json");
    }
  }
  for (const fs::path& path : TRY(files_of(places.device_info))) {
    const std::string name = path.filename().string();
    const auto is_its = [&](const std::string& ending) { return name.ends_with(ending); };
    if (std::any_of(endings.begin(), endings.end(), is_its)) TRY(removal.remove(path));
  }
  return {};
}

}  // namespace

UninstallPlaces places_below(const std::string& root, const std::string& cni_folder,
                             const std::string& cdi_folder) {
  const std::string top = root == "/" ? "" : root;
  // Not below /var/run: it is a link to /run, which leads out of `root`.
  const std::string cdi = cdi_folder.starts_with("/var/run/") ? cdi_folder.substr(4) : cdi_folder;
  return {.root = top,
          .cni_folder = top + cni_folder,
          .state = top + "/var/lib/cni/vfrail",
          .run = top + "/run/vfrail",
          .cdi = top + "/run/cdi",
          .device_info = top + "/run/k8s.cni.cncf.io/devinfo/dp",
          .more_cdi = cdi.empty() ? "" : top + cdi};
}

Result<std::vector<std::string>> uninstall(const UninstallPlaces& places) {
  TRY(refuse_attachments(places));
  Removal removal;
  TRY(remove_executables(places.cni_folder, removal));
  // From here on no ADD begins. One that had begun may have recorded its device meanwhile.
  TRY(refuse_attachments(places), "vfrail-cni is removed, but a pod was being started; install it again");
  TRY(remove_cdi_specs(places.cdi, removal));
  if (!places.more_cdi.empty()) TRY(remove_cdi_specs(places.more_cdi, removal));
  TRY(remove_device_info(places, removal));
  TRY(removal.remove(places.run));
  TRY(removal.remove(places.state));
  return removal.take();
}

}  // namespace vfrail::cni

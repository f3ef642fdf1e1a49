#include "cni/uninstall.h"

#include "cni/install.h"
#include "cni/record/record.h"
#include "common/container/allocated_nodes.h"
#include "common/container/cdi_spec.h"
#include "common/container/claim_record.h"
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

std::string driver_folder(const UninstallPlaces& places) {
  return places.kubelet + "/plugins/" + places.driver;
}

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

std::string first_names(std::vector<std::string> names) {
  const bool more = names.size() > kMostNames;
  names.resize(std::min(names.size(), kMostNames));
  if (more) names.push_back("...");
  return joined(names, ", ");
}

// Without the driver kubelet cannot unprepare a claim, and its pod never ends.
Result<> refuse_claims(const UninstallPlaces& places) {
  const auto uids = TRY(list_claims(places.run));
  if (uids.empty()) return {};
  std::vector<std::string> texts;
  for (const std::string& uid : uids) {
    const auto record = read_claim_record(places.run, uid);
    texts.push_back(record && *record ? (*record)->text() : "claim with uid " + uid);
  }
  return Error{Errc::busy, 0,
               counted(uids.size(), "ResourceClaim") + (uids.size() == 1 ? " is" : " are") + " prepared (" +
                   first_names(texts) + "), so everything stays, also the DRA driver's folder " +
                   driver_folder(places).substr(places.root.size()) +
                   ": kubelet ends their pods with vfrail serve alone; start it again, delete the pods, and "
                   "try again",
               ErrorId::attachments_left};
}

Result<> refuse_attachments(const UninstallPlaces& places) {
  const auto names = TRY(RecordStore::open_read_only(places.state, places.run + "/locks").list());
  if (names.empty()) return {};
  std::vector<std::string> texts;
  for (const AttachmentName& name : names)
    texts.push_back(name.ifname + " of container " + name.container_id);
  return Error{Errc::busy, 0,
               std::to_string(names.size()) + " attachments are recorded (" + first_names(texts) +
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

bool is_left_socket(const fs::path& path) {
  std::error_code failed;
  return fs::is_socket(fs::symlink_status(path, failed)) && !failed;
}

// What serve was killed with, and the folder that it has made. Of two instances in an update each has sockets
// of its own: "dra-UID.sock", "vfrail.io-UID-reg.sock". A file of somebody else keeps the folder.
Result<> remove_driver(const UninstallPlaces& places, Removal& removal) {
  const auto is_of = [](std::string_view name, std::string_view begin, std::string_view end) {
    if (!name.starts_with(begin) || !name.ends_with(end) || name.size() < begin.size() + end.size())
      return false;
    const std::string_view uid = name.substr(begin.size(), name.size() - begin.size() - end.size());
    // With a dot it would be another driver's.
    return uid.empty() || (uid.front() == '-' && uid.find('.') == std::string_view::npos);
  };
  for (const fs::path& path : TRY(files_of(places.kubelet + "/plugins_registry"))) {
    if (is_of(path.filename().string(), places.driver, "-reg.sock") && is_left_socket(path))
      TRY(removal.remove(path));
  }
  const auto files = TRY(files_of(driver_folder(places)));
  bool others = false;
  for (const fs::path& path : files) {
    const bool ours = is_of(path.filename().string(), "dra", ".sock") && is_left_socket(path);
    if (ours) TRY(removal.remove(path));
    others = others || !ours;
  }
  return others ? Result<>() : removal.remove(driver_folder(places));
}

}  // namespace

UninstallPlaces places_below(const std::string& root, const std::string& cni_folder,
                             const UninstallOptions& options) {
  const std::string top = root == "/" ? "" : root;
  const std::string& cdi_folder = options.cdi_folder;
  // Not below /var/run: it is a link to /run, which leads out of `root`.
  const std::string cdi = cdi_folder.starts_with("/var/run/") ? cdi_folder.substr(4) : cdi_folder;
  return {.root = top,
          .cni_folder = top + cni_folder,
          .state = top + "/var/lib/cni/vfrail",
          .run = top + "/run/vfrail",
          .cdi = top + "/run/cdi",
          .device_info = top + "/run/k8s.cni.cncf.io/devinfo/dp",
          .more_cdi = cdi.empty() ? "" : top + cdi,
          .kubelet = top + options.kubelet_folder,
          .driver = options.driver};
}

Result<std::vector<std::string>> uninstall(const UninstallPlaces& places) {
  TRY(refuse_attachments(places));
  TRY(refuse_claims(places));
  Removal removal;
  TRY(remove_executables(places.cni_folder, removal));
  // From here on no ADD begins. One that had begun may have recorded its device meanwhile.
  TRY(refuse_attachments(places), "vfrail-cni is removed, but a pod was being started; install it again");
  TRY(remove_cdi_specs(places.cdi, removal));
  if (!places.more_cdi.empty()) TRY(remove_cdi_specs(places.more_cdi, removal));
  TRY(remove_device_info(places, removal));
  TRY(remove_driver(places, removal));
  TRY(removal.remove(places.run));
  TRY(removal.remove(places.state));
  return removal.take();
}

}  // namespace vfrail::cni

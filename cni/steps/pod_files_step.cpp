#include "cni/steps/pod_files_step.h"

#include "cni/plan/pod_files.h"
#include "common/container/allocated_nodes.h"
#include "common/container/cdi_runtime.h"
#include "common/container/cdi_spec.h"
#include "common/container/pod_folder.h"
#include "common/errors/error_id.h"
#include "common/files.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace vfrail::cni {

namespace {

namespace fs = std::filesystem;

constexpr unsigned kForAll = 0644;  // programs of any user read them

// Those that are complete: an ADD that is at work writes the files again.
Result<std::vector<DescribedAttachment>> find_described(const std::string& container_id,
                                                        const std::optional<AttachmentName>& except,
                                                        const World& world) {
  std::vector<DescribedAttachment> out;
  for (const AttachmentName& name : TRY(world.store.list())) {
    if (name.container_id != container_id || name == except) continue;
    auto record = TRY(world.store.load(name));
    if (!record || !record->in_pod) continue;
    const Configuration then(record->config);
    DescribedAttachment one{std::move(*record)};
    if (then.conf()) one.nccl = then.conf()->nccl;
    out.push_back(std::move(one));
  }
  return out;
}

// `at` gives the path of a file in the folder. A fixed name for the temporary file, which a kill may leave:
// nobody else writes there under the pod's lock.
template <class At>
Result<> write_all(const PodFiles& files, const At& at) {
  for (const auto& [name, text] :
       {std::pair(kNcclFile, &files.nccl_conf), std::pair(kUcxFile, &files.ucx_conf),
        std::pair(kPodFile, &files.pod_json)}) {
    const std::string file = name;
    TRY(write_file(Replacement{at(file), at(file + ".new")}, *text, kForAll, Durability::renamed));
  }
  return {};
}

// Links in the place of these folders are not followed. No value: nobody has made them.
Result<std::optional<HeldFolder>> find_pod_folders(const World& world) {
  const auto run = TRY(HeldFolder::open(world.run_folder));
  return run ? run->enter(kPodFolders) : Result<std::optional<HeldFolder>>(std::nullopt);
}

Result<HeldFolder> make_pod_folder(const std::string& container_id, const World& world) {
  auto run = TRY(HeldFolder::open(world.run_folder));
  if (!run) {
    TRY(make_folder(world.run_folder, 0755));
    run = TRY(HeldFolder::open(world.run_folder));
    if (!run) return Error::from_errno(ENOENT, "create folder " + world.run_folder);
  }
  for (int tries = 0;; ++tries) {
    const auto all = TRY(run->make(kPodFolders, 0755));
    auto folder = all.make(container_id, 0755);
    // Another process may remove the empty folder above it in between (remove_folder()).
    if (folder || folder.error().sys != ENOENT || tries == 3) return folder;
  }
}

Result<> write_folder(const std::string& container_id, const PodFiles& files, const World& world) {
  const HeldFolder folder = TRY(make_pod_folder(container_id, world));
  // The umask may have taken bits away.
  if (::chmod(folder.at(".").c_str(), 0755) != 0) return Error::from_errno(errno, "chmod " + folder.path());
  return write_all(files, [&](const std::string& name) { return folder.at(name); });
}

// Of a device that was allocated without CDI. The device plugin has made it, which has fewer rights, so no
// link in it is followed. No value: there is none.
Result<std::optional<HeldFolder>> find_device_folder(const DeviceId& device, const World& world) {
  const auto run = TRY(HeldFolder::open(world.run_folder));
  const auto all = run ? TRY(run->enter(kDeviceFolders)) : std::nullopt;
  auto folder = all ? TRY(all->enter(device.text())) : std::nullopt;
  if (folder) TRY(folder->check_owner());
  return folder;
}

Result<> write_device_folder(const DeviceId& device, const PodFiles& files, const World& world) {
  const auto folder = TRY(find_device_folder(device, world));
  if (!folder) return {};
  return write_all(files, [&](const std::string& name) { return folder->at(name); });
}

// As the device plugin has made it.
Result<> clear_device_folder(const DeviceId& device, const World& world) {
  const auto folder = TRY(find_device_folder(device, world));
  if (!folder) return {};
  for (const char* file : {kUcxFile, kPodFile}) TRY(remove_file(folder->at(file)));
  const std::string nccl = folder->at(kNcclFile);
  return write_file(Replacement{nccl, nccl + ".new"}, "", kForAll, Durability::renamed);
}

bool is_of_a_pod(const std::string& folder, const World& world) {
  return folder == default_folder(world.run_folder) ||
         folder.starts_with(world.run_folder + "/" + kPodFolders + "/");
}

// The containers that get `from` (empty: any folder of a pod) by that spec get `to`. Under the device's lock,
// as every change of it.
Result<> move_mounts(const std::string& path, const std::string& from, const std::string& to, World& world) {
  const auto file = TRY(find_cdi_spec(path, with_folders_of_runtime(path, world.cdi_folders, world.sys)));
  auto spec = file ? TRY(read_cdi_spec(file->path())) : std::nullopt;
  if (!spec) return {};
  const std::string now = mounted_pod_folder(spec->edits);
  const bool wanted = from.empty() ? is_of_a_pod(now, world) : now == from;
  if (!wanted || !move_pod_mounts(spec->edits, now, to)) return {};
  return write_cdi_spec(file->path(), file->path() + ".new", *spec);
}

// The containers with the record's device get `to` in place of `from`, as in move_mounts().
Result<> move_mounts_of(const Record& record, const std::string& from, const std::string& to, World& world) {
  if (!record.device) return {};
  const auto allocated = TRY(read_allocated_nodes(world.run_folder, *record.device));
  if (!allocated || allocated->cdi_spec.empty()) return {};
  const auto lock =
      TRY(world.store.lock_device(record.device_key, world.lock_timeout), "wait for " + record.device_key);
  return move_mounts(allocated->cdi_spec, from, to, world);
}

// Unless another attachment has the device by now: then the files there are its own.
Result<> leave_device_folder(const Record& leaving, World& world) {
  if (!leaving.device || !TRY(find_device_folder(*leaving.device, world))) return {};
  const auto lock =
      TRY(world.store.lock_device(leaving.device_key, world.lock_timeout), "wait for " + leaving.device_key);
  const auto owner = TRY(world.store.owner(leaving.device_key));
  if (owner && owner != leaving.attachment) return {};
  return clear_device_folder(*leaving.device, world);
}

Result<> remove_folder(const std::string& container_id, const World& world) {
  const auto all = TRY(find_pod_folders(world));
  if (!all) return {};
  std::error_code failed;
  fs::remove_all(all->at(container_id), failed);
  if (failed) return Error::from_errno(failed.value(), "remove " + all->path() + "/" + container_id);
  // With the last pod nothing is left.
  (void)::rmdir(all->path().c_str());
  return {};
}

PodFiles files_of(const std::string& container_id, std::vector<DescribedAttachment> attachments,
                  World& world) {
  PodFiles out = make_pod_files(container_id, std::move(attachments));
  for (const std::string& conflict : out.conflicts)
    world.log.warning(
        "two networks of the pod set a variable of NCCL differently",
        {{"container", container_id}, {"reason", conflict}, {"id", id_text(ErrorId::pod_files)}});
  return out;
}

Result<> write_files(const std::string& container_id, const std::vector<DescribedAttachment>& attachments,
                     World& world) {
  const PodFiles files = files_of(container_id, attachments, world);
  TRY(write_folder(container_id, files, world));
  for (const DescribedAttachment& one : attachments) {
    if (one.record.device) TRY(write_device_folder(*one.record.device, files, world));
  }
  return {};
}

}  // namespace

Result<> write_pod_files(const std::string& container_id, World& world) {
  const auto lock =
      TRY(world.store.lock_pod(container_id, world.lock_timeout), "wait for the files of the pod");
  const auto attachments = TRY(find_described(container_id, std::nullopt, world));
  TRY(write_files(container_id, attachments, world));
  const std::string folder = pod_folder(world.run_folder, container_id);
  for (const DescribedAttachment& one : attachments)
    TRY(move_mounts_of(one.record, "", folder, world), "CDI spec of " + one.record.device_key);
  return {};
}

Result<FileLock> restore_pod_files(const Record& leaving, World& world) {
  const std::string& container_id = leaving.attachment.container_id;
  auto lock = TRY(world.store.lock_pod(container_id, world.lock_timeout), "wait for the files of the pod");
  const std::string folder = pod_folder(world.run_folder, container_id);
  TRY(move_mounts_of(leaving, folder, default_folder(world.run_folder), world),
      "CDI spec of " + leaving.device_key);
  TRY(leave_device_folder(leaving, world));
  const auto attachments = TRY(find_described(container_id, leaving.attachment, world));
  TRY(attachments.empty() ? remove_folder(container_id, world)
                          : write_files(container_id, attachments, world));
  return lock;
}

Result<std::vector<std::string>> abandoned_pod_folders(const World& world) {
  std::vector<std::string> out;
  const auto names = TRY(world.store.list());
  const auto all = TRY(find_pod_folders(world));
  if (!all) return out;
  std::error_code failed;
  for (fs::directory_iterator at(all->at("."), failed), end; !failed && at != end; at.increment(failed)) {
    const std::string container_id = at->path().filename().string();
    const bool known = std::any_of(names.begin(), names.end(), [&](const AttachmentName& name) {
      return name.container_id == container_id;
    });
    if (!known && valid_container_id(container_id)) out.push_back(container_id);
  }
  if (failed) return Error::from_errno(failed.value(), "list " + all->path());
  std::sort(out.begin(), out.end());
  return out;
}

namespace {

// Every spec of ours that has the folder: without a record it is not known which devices these are of.
Result<> restore_default_mounts(const std::string& folder, World& world) {
  for (const std::string& specs : with_folders_of_runtime("", world.cdi_folders, world.sys)) {
    std::error_code failed;
    for (fs::directory_iterator at(specs, failed), end; !failed && at != end; at.increment(failed)) {
      const std::string name = at->path().filename().string();
      if (!name.starts_with(kCdiFilePrefix) || !name.ends_with(".json")) continue;
      const auto spec = TRY(read_cdi_spec(at->path()));
      if (!spec || mounted_pod_folder(spec->edits) != folder) continue;
      if (!DeviceId::parse(spec->device)) continue;  // it becomes the name of a lock; ours have a device's
      const auto lock =
          TRY(world.store.lock_device(spec->device, world.lock_timeout), "wait for " + spec->device);
      TRY(move_mounts(at->path(), folder, default_folder(world.run_folder), world));
    }
    if (failed && failed != std::errc::no_such_file_or_directory)
      return Error::from_errno(failed.value(), "list " + specs);
  }
  return {};
}

}  // namespace

Result<bool> remove_abandoned_pod_folder(const std::string& container_id, World& world) {
  // Also without a folder: releasing the lock removes its file, which a killed DEL has left.
  auto locked = world.store.lock_pod(container_id, {});
  if (!locked && locked.error().code == Errc::busy) return false;
  const FileLock lock = TRY(std::move(locked));
  const std::string folder = pod_folder(world.run_folder, container_id);
  const auto all = TRY(find_pod_folders(world));
  if (!all || (::access(all->at(container_id).c_str(), F_OK) != 0 && errno == ENOENT)) return false;
  const auto abandoned = TRY(abandoned_pod_folders(world));
  if (std::find(abandoned.begin(), abandoned.end(), container_id) == abandoned.end()) return false;
  TRY(restore_default_mounts(folder, world));
  TRY(remove_folder(container_id, world));
  return true;
}

}  // namespace vfrail::cni

#include "common/container/pod_folder.h"

namespace vfrail {

namespace {

std::string nccl_file(const std::string& folder) { return folder + "/" + kNcclFile; }

}  // namespace

std::string pod_folder(const std::string& run_folder, const std::string& container_id) {
  return run_folder + "/" + kPodFolders + "/" + container_id;
}

std::string default_folder(const std::string& run_folder) { return run_folder + "/" + kDefaultFolder; }

std::string device_files_folder(const std::string& run_folder, const std::string& device) {
  return run_folder + "/" + kDeviceFolders + "/" + device;
}

std::vector<Mount> pod_mounts(const std::string& folder, bool nccl) {
  std::vector<Mount> out{{folder, kPodMount}};
  if (nccl) out.push_back({nccl_file(folder), kNcclMount});
  return out;
}

std::string mounted_pod_folder(const ContainerEdits& edits) {
  for (const Mount& mount : edits.mounts) {
    if (mount.container_path == kPodMount) return mount.host_path;
  }
  return "";
}

bool move_pod_mounts(ContainerEdits& edits, std::string_view from, const std::string& to) {
  bool moved = false;
  const std::string before(from);
  for (Mount& mount : edits.mounts) {
    const bool folder = mount.container_path == kPodMount && mount.host_path == before;
    const bool nccl = mount.container_path == kNcclMount && mount.host_path == nccl_file(before);
    if ((!folder && !nccl) || before == to) continue;
    mount.host_path = folder ? to : nccl_file(to);
    moved = true;
  }
  return moved;
}

}  // namespace vfrail

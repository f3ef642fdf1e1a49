// The files that describe a pod's networks to its programs: where they are on the host, and the mounts by
// which a container gets them. vfrail-cni writes them; the device plugin gives containers the mounts before
// there are any, so each has a default with empty files. Pure.
//
//   /run/vfrail/pods/CONTAINER/    nccl.conf, ucx.conf, pod.json of a pod, from its first ADD to its last DEL
//   /run/vfrail/none/              the default with CDI: an empty nccl.conf
//   /run/vfrail/devices/DEVICE/    without CDI, where a mount cannot be changed after Allocate: the same
//                                  files for each device, empty until ADD and after DEL
#pragma once

#include "common/container/container_edits.h"

#include <string>
#include <string_view>
#include <vector>

namespace vfrail {

// In the container.
inline constexpr const char* kPodMount = "/run/vfrail";
inline constexpr const char* kNcclMount = "/etc/nccl.conf";

inline constexpr const char* kNcclFile = "nccl.conf";
inline constexpr const char* kUcxFile = "ucx.conf";
inline constexpr const char* kPodFile = "pod.json";

inline constexpr const char* kPodFolders = "pods";
inline constexpr const char* kDefaultFolder = "none";
inline constexpr const char* kDeviceFolders = "devices";

std::string pod_folder(const std::string& run_folder, const std::string& container_id);
std::string default_folder(const std::string& run_folder);
std::string device_files_folder(const std::string& run_folder, const std::string& device);

// Read-only: the folder, and with `nccl` its nccl.conf where every version of NCCL reads it.
std::vector<Mount> pod_mounts(const std::string& folder, bool nccl);
// The folder that the container gets; empty: none.
std::string mounted_pod_folder(const ContainerEdits& edits);
// Gives the mounts of `from` the files of `to`. False: none of them has it, or it was so before.
bool move_pod_mounts(ContainerEdits& edits, std::string_view from, const std::string& to);

}  // namespace vfrail

// The files that describe its networks to a pod (cni/plan/pod_files.h), their place in its containers, and
// the inverse for one of its attachments.
//   write_pod_files      from the records of all attachments of the pod
//   restore_pod_files    without one attachment, whose containers get the default files again
// Under a lock of the pod. The inverse depends on what it finds alone; what a killed verb leaves is removed
// by a sweep, or by a DEL without a record (abandoned folders).
#pragma once

#include "cni/node/world.h"
#include "cni/record/record.h"
#include "common/files.h"
#include "common/result.h"

#include <string>
#include <vector>

namespace vfrail::cni {

// Writes the files of a pod from the records of all its attachments, then gives them to the containers with
// one of its devices, by their CDI specs. The files come first: a mount without a source stops a container.
Result<> write_pod_files(const std::string& container_id, World& world);

// For one attachment, whose record is still there: its device's containers get the default files again, and
// the pod's no longer have the attachment. With the pod's last attachment the folder goes. Returns the lock
// of the pod, to be held until the record is removed: a DEL of the pod's other network would write the files
// with this attachment again, and leave them.
Result<FileLock> restore_pod_files(const Record& leaving, World& world);

// The containers whose folder is still there, and that have no record any more.
Result<std::vector<std::string>> abandoned_pod_folders(const World& world);
// Removes the folder of such a container. False: it is not abandoned, or not there.
Result<bool> remove_abandoned_pod_folder(const std::string& container_id, World& world);

}  // namespace vfrail::cni

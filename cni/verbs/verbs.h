// The CNI verbs, one file each, over a World (cni/node/world.h).
#pragma once

#include "cni/conf/net_conf.h"
#include "cni/conf/request.h"
#include "cni/conf/result.h"
#include "cni/node/boot.h"
#include "cni/node/world.h"
#include "cni/record/record.h"
#include "common/kernel/kernel.h"
#include "common/log.h"
#include "common/node/sys_root.h"
#include "common/result.h"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace vfrail::cni {

Result<AddResult> add(const Request& request, World& world);
Result<> del(const Request& request, World& world);
Result<> check(const Request& request, World& world);
Result<> gc(const Request& request, World& world);

// Each text names what is wrong and the remedy. Both empty: ADD would succeed.
struct StatusAnswer {
  std::vector<std::string> missing;   // what ADD lacks: code 50
  std::vector<std::string> degraded;  // what attached pods have lost: code 51
  std::optional<ErrorId> id;          // of the first of them
};
Result<StatusAnswer> status(const Request& request, World& world);

// The lock that every verb of this name takes (RecordStore). `verb` is for the error of those who wait for
// it.
Result<FileLock> lock_attachment(const AttachmentName& name, const std::string& verb, World& world);

// What Allocate has answered the container about the device's nodes.
enum class AllocateAnswer : uint8_t {
  kept,  // the container can be created again from it, without another Allocate
  ended,
};

// Restores the device of an attachment, under the device's lock, unless the attachment no longer has it: then
// it is left alone. The record stays, without its device: whoever has the attachment's lock removes it, last.
// `netns` is a hint where the pod's namespace may be, beside the record's own path.
Result<> detach(const Record& record, const std::string& netns, AllocateAnswer allocation, World& world);

// Removes the record of an attachment whose device is detached, and the attachment from the files of its pod.
// What a failure leaves of the files is removed by a sweep: no pod has to wait for it.
Result<> remove_record(const Record& record, World& world);

// For messages about a path that leads to no namespace.
inline constexpr const char* kPodHasEnded =
    ": the pod's sandbox has ended meanwhile (a retry by the runtime makes a new one), or the path is wrong";

// The part of detach() that ADD shares, for callers that have the device's lock.
Result<> restore_device(const Record& record, const std::string& netns, World& world);

// What an attachment holds, and how it is released.
struct Holdings {
  std::optional<Record> record;  // no value: it was never made, is gone, or was lost
  Request request;               // the IPAM plugin gets its configuration
  NetConf network;               // with its ipam_type; empty: there is no address
  // False: no ADD has ever reached IPAM with this configuration, so an error of the plugin is not a failure.
  bool address_expected = true;
  AllocateAnswer allocation = AllocateAnswer::ended;
};

// Releases device, address and record, in DEL's order, under the attachment's lock, which the caller has. The
// device's lock is not held while the IPAM plugin runs. After a failure the record stays; an address that is
// still live because the device could not be detached is not released.
Result<> release(const Holdings& held, World& world);
// The same of all that a record says, with its configuration.
Result<> release_recorded(const Record& record, AllocateAnswer allocation, World& world);

// DEL from the record, for when the runtime does not ask. False, and nothing is done, if the record has
// changed by then or `decide`, which is called under the locks of attachment and device, returns false.
Result<bool> undo(const Record& record, World& world, const std::function<Result<bool>()>& decide);

// Quarantines a record that cannot be read. False: under its attachment's lock it can be read.
Result<bool> quarantine_unreadable(const AttachmentName& name, World& world);

// The pod's kernel, if the namespace that the device was moved into still exists, at the record's path or the
// other one.
Result<std::unique_ptr<Kernel>> open_pod(const Record& record, const std::string& netns, const World& world);

// The device of the record is in the namespace that it was moved into.
Result<bool> is_attached(const Record& record, World& world);

}  // namespace vfrail::cni

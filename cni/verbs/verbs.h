// The CNI verbs, one file each, over a World (cni/node/world.h).
#pragma once

#include "cni/conf/net_conf.h"
#include "cni/conf/request.h"
#include "cni/conf/result.h"
#include "cni/node/boot.h"
#include "cni/node/world.h"
#include "cni/record/record.h"
#include "common/log.h"
#include "common/netlink/kernel.h"
#include "common/node/sys_root.h"
#include "common/result.h"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace vfrail {

Result<AddResult> add(const Request& request, World& world);
Result<> del(const Request& request, World& world);
Result<> check(const Request& request, World& world);
Result<> gc(const Request& request, World& world);

// Each text names what is wrong and the remedy. Nothing in either: ADD would be served.
struct Status {
  std::vector<std::string> missing;   // what ADD needs: code 50
  std::vector<std::string> degraded;  // what attached pods have lost: code 51
  std::optional<ErrorId> id;          // of the first of them
};
Result<Status> status(const Request& request, World& world);

// The lock under which everything is done that is done under this name (RecordStore). `verb` is for those who
// wait for it.
Result<FileLock> lock_attachment(const AttachmentName& name, const std::string& verb, World& world);

// What Allocate has answered the container about the device's nodes.
enum class Allocation : uint8_t {
  kept,  // the container can be made again from it, without another Allocate
  ended,
};

// Gives the device of an attachment back, under the device's lock, unless the attachment has it no longer:
// then it is left alone. The record stays, without its device: who has the attachment's lock removes it,
// last. `netns` is a hint where the pod's namespace may be, beside the record's own path.
Result<> detach(const Record& record, const std::string& netns, Allocation allocation, World& world);

// For messages about a path that leads to no namespace.
inline constexpr const char* kPodHasEnded =
    ": the pod's sandbox has ended meanwhile (a retry by the runtime makes a new one), or the path is wrong";

// The part of detach() that ADD shares, for when the caller has the device's lock.
Result<> restore_device(const Record& record, const std::string& netns, World& world);

// What an attachment holds, and how it is released.
struct Holdings {
  std::optional<Record> record;  // nothing: it was never made, is gone, or was lost
  Request request;               // its configuration is what the IPAM plugin gets
  NetConf network;               // with its ipam_type; empty: there is no address
  // False: no ADD has ever got as far as IPAM with this configuration, so what the plugin says of it is no
  // failure.
  bool address_expected = true;
  Allocation allocation = Allocation::ended;
};

// Releases device, address and record, in DEL's order, under the attachment's lock, which the caller has. The
// device's lock is not held while the IPAM plugin runs. Goes on after a failure; then the record stays.
Result<> release(const Holdings& held, World& world);

// DEL by what its record kept, for when the runtime does not ask. False, and nothing is done, if by then the
// record is another one or `decide`, which is asked under the locks of attachment and device, says no.
Result<bool> undo(const Record& record, World& world, const std::function<Result<bool>()>& decide);

// Moves a record that cannot be read out of the way. False: under its attachment's lock it can be read.
Result<bool> quarantine_unreadable(const AttachmentName& name, World& world);

// The pod's kernel, if the namespace that the device was moved into still lives, at the record's path or the
// other one.
Result<std::unique_ptr<Kernel>> open_pod(const Record& record, const std::string& netns, const World& world);

// The device of the record is in the namespace that it was moved into.
Result<bool> attachment_lives(const Record& record, World& world);

}  // namespace vfrail

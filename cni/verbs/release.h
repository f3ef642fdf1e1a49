// How an attachment is given back, by DEL, by the roll-back of an ADD, by GC and by a sweep: a ladder, of
// which each rung calls the next one.
//   release      all that an attachment holds: its device, its address, its record, and the files of its pod.
//                Under the attachment's lock (cni/verbs/attachment.h).
//   detach       its device, unless another attachment has it by now. Takes the device's lock, and gives it
//                back before the IPAM plugin runs, which can take minutes. In release.cpp alone.
//   restore_X    one property of the device, as it was before the attachment: restore_device() calls them in
//                the order that drivers need. Under the device's lock. restore_link(), restore_rdma(),
//                restore_irqs(), restore_driver(), restore_vf_identity(), restore_vf_policy() are in
//                cni/steps, beside what they undo, restore_baseline() is in cni/baseline.
// Each goes by what it finds, and takes what is restored, released or gone already for done, so that it can
// be repeated after a failure or a kill. None decides whether the pod has ended: cni/verbs/orphan.h.
#pragma once

#include "cni/conf/net_conf.h"
#include "cni/conf/request.h"
#include "cni/node/world.h"
#include "cni/record/record.h"
#include "common/result.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace vfrail::cni {

// What Allocate has answered the container about the device's nodes.
enum class AllocateAnswer : uint8_t {
  kept,  // the container can be created again from it, without another Allocate
  ended,
};

// What an attachment holds, and how it is released.
struct Holdings {
  std::optional<Record> record;  // no value: it was never made, is gone, or was lost
  Request request;               // the IPAM plugin gets its configuration
  NetConf network;               // with its ipam_type; empty: there is no address
  // False: no ADD has ever reached IPAM with this configuration, so an error of the plugin is not a failure.
  bool address_expected = true;
  AllocateAnswer allocation = AllocateAnswer::ended;
};

// What a DEL with this request has to release: by the record, or without one by the configuration, or by the
// readable part of that.
Result<Holdings> find_holdings(std::optional<Record> record, const Request& request, World& world);

// Releases device, address and record, in DEL's order, under the attachment's lock, which the caller has.
// After a failure the record stays; an address that is still live because the device could not be detached is
// not released.
Result<> release(const Holdings& held, World& world);
// Releases all that a record says, with the configuration that it has, under the attachment's lock, which the
// caller has.
Result<> release(const Record& record, AllocateAnswer allocation, World& world);

// Releases all that a record says, for when the runtime does not ask. Takes the attachment's lock. False, and
// nothing is done, if the record has changed by then or `decide`, which is called under the locks of
// attachment and device, returns false.
Result<bool> release_if(const Record& record, World& world, const std::function<Result<bool>()>& decide);

// Restores every property of the record's device, under the device's lock, which the caller has. The record
// stays, and the device is still its. `netns` is a hint where the pod's namespace may be, beside the record's
// own path.
Result<> restore_device(const Record& record, const std::string& netns, World& world);

}  // namespace vfrail::cni

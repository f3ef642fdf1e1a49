// RecordStore: what each attachment changed, on disk before the first change and until nothing is left to
// undo. Only root can read it. Knows nothing of netlink; it stores and finds. Where the records are, and
// their reading: common/node/attachments.h.
//
//   LOCKS/                                 0700, /run/vfrail/locks: DEL must get them on a full or read-only
//   disk
//     rails:CONTAINER:IFNAME               flock'd for the whole of an ADD or DEL of several rails
//     rail:KEY                             flock'd for the whole of an ADD of several rails, each one's, in
//     the
//                                          order of their keys
//     attachment:CONTAINER:IFNAME          flock'd for the whole of an ADD, of a DEL, and of a clean-up
//     pod:CONTAINER                        flock'd while the files of a pod are written or removed
//     KEY                                  flock'd while a device is attached or restored, never across IPAM
//     ipam:CONTAINER:IFNAME                flock'd while an IPAM plugin gives it an address, by that plugin
//     rdma                                 flock'd for the moment of an RDMA move
//   They are taken in this order, and no two of a kind at once but those of rails.
//
// Whatever else has the name of a lock, an owner or a record is put out of the way ("NAME.corrupt"), so that
// DEL and sweep go on.
#pragma once

#include "common/container/held_folder.h"
#include "common/files.h"
#include "common/node/attachments.h"
#include "common/result.h"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace vfrail::cni {

// Whose RDMA devices the pod uses: its own device, or the one that its interface stands on.
inline const std::optional<DeviceId>& rdma_function(const Record& record) {
  return record.child ? record.child->device : record.device;
}

class RecordStore : public Attachments {
 public:
  // Creates the folders (`locks` is below /run). Errc::denied if one of them, or of the others below the
  // state folder, is a symbolic link or belongs to another user; permissions of others are removed.
  static Result<RecordStore> open(std::string folder, std::string locks);
  // To read only: changes nothing, even if the folders are missing.
  static RecordStore open_read_only(std::string folder, std::string locks) {
    return {std::move(folder), std::move(locks)};
  }

  // One verb of an attachment at a time: whatever is done under its name is done under this lock. `verb` is
  // for the error of those who wait for it, or for a lock that is taken later.
  Result<FileLock> lock_attachment(const AttachmentName& name, const std::string& verb,
                                   std::chrono::milliseconds wait_at_most);
  // One verb of a unit of several devices at a time; each of its rails has an attachment's lock, too.
  Result<FileLock> lock_rails(const AttachmentName& name, const std::string& verb,
                              std::chrono::milliseconds wait_at_most);
  // One ADD of units at a time for a device: of two units that share devices, one gets all of its own.
  Result<FileLock> lock_rail(const std::string& device_key, std::chrono::milliseconds wait_at_most) const;
  // The files of a pod, and the mounts of them in the CDI specs of its devices.
  Result<FileLock> lock_pod(const std::string& container_id, std::chrono::milliseconds wait_at_most) const;
  Result<FileLock> lock_device(const std::string& key, std::chrono::milliseconds wait_at_most) const;
  Result<FileLock> lock_rdma(std::chrono::milliseconds wait_at_most) const;
  Result<FileLock> lock_ipam(const AttachmentName& name, std::chrono::milliseconds wait_at_most) const;
  // The file of lock_ipam(), to learn who holds that lock.
  std::string ipam_lock_file(const AttachmentName& name) const;

  // Writes the record, then makes it the device's owner; under the locks of both. If it fails, what was saved
  // before stays. Without fsync: a record has to outlive a kill, which loses nothing. After a power cut the
  // boot id makes it void anyway, and an address is released by the DEL of the runtime, which brings its own
  // configuration. A power cut may truncate a record: whoever cannot read it quarantines it.
  Result<> save(const Record& record) const;
  // Writes the record of an attachment whose device is released, and leaves the device's owner. Under the
  // locks of both.
  Result<> replace(const Record& record) const;
  // owner(), under the device's lock. What is not a link is moved aside; then the owner is the only
  // attachment whose record has the device.
  Result<std::optional<AttachmentName>> find_owner(const std::string& device_key) const;
  // Removes the device's owner: it is restored, and no longer belongs to the attachment. Under the device's
  // lock.
  Result<> remove_owner(const Record& record) const;
  // Removes the record, unless another one has its name by now. Under the attachment's lock: nothing may
  // change between the comparison and the removal.
  Result<> remove(const Record& record) const;
  // Files that a kill in save() left. Under the device's lock, so nobody is writing.
  Result<> remove_leftovers(const std::string& device_key) const;
  // Quarantines a record that cannot be read, also what is not a file, so that it blocks nothing:
  // "NAME.corrupt".
  Result<> quarantine(const AttachmentName& name) const;

  // Whether a process is attaching the device or restoring it. Changes nothing.
  bool is_locked(const std::string& device_key) const;
  // Whether a verb is running for the attachment, or for its device. Changes nothing.
  bool is_locked(const Record& record) const;

  // What killed processes left: owners without a record, incomplete files, locks without a holder.
  Result<std::vector<std::string>> leftovers() const;
  // Removes one of leftovers(). False: it is in use again.
  Result<bool> remove_leftover(const std::string& path) const;

 private:
  RecordStore(std::string folder, std::string locks)
      : Attachments(std::move(folder)), locks_(std::move(locks)) {}
  std::string temporary_path(const std::string& device_key) const;
  Result<FileLock> lock(const std::string& name, std::chrono::milliseconds wait_at_most) const;
  std::string lock_path(const std::string& name) const;
  bool is_lock(const std::string& path) const;
  bool is_leftover(const std::string& path) const;
  std::string locks_;
  // Used after open() has checked it: below /run a less trusted process could replace the folder.
  std::shared_ptr<const HeldFolder> held_locks_;
  std::string purpose_;  // of the locks that are held
};

}  // namespace vfrail::cni

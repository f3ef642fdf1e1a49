// RecordStore: what each attachment changed, on disk before the first change and until nothing is left to
// undo. Only root can read it. Knows nothing of netlink; it stores and finds.
//
//   STATE/                                 0700, /var/lib/cni/vfrail
//     attachments/CONTAINER:IFNAME.json    one Record, 0600
//     devices/KEY -> CONTAINER:IFNAME      who has the device
//   LOCKS/                                 0700, /run/vfrail/locks: DEL must get them on a full or read-only
//   disk
//     attachment:CONTAINER:IFNAME          flock'd for the whole of an ADD, of a DEL, and of a clean-up
//     KEY                                  flock'd while a device is attached or restored, never across IPAM
//     ipam:CONTAINER:IFNAME                flock'd while an IPAM plugin gives it an address, by that plugin
//     too rdma                                 flock'd for the moment of an RDMA move
//   They are taken in this order, and each at most once.
#pragma once

#include "cni/conf/net_conf.h"
#include "common/files.h"
#include "common/ids.h"
#include "common/json.h"
#include "common/netlink/kernel.h"
#include "common/netlink/netns.h"
#include "common/node/held_folder.h"
#include "common/result.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace vfrail {

// A netdev as it was in the host.
struct LinkBefore {
  int index = 0;
  std::string name;
  std::vector<std::string> altnames;
  MacAddress mac;
  uint32_t mtu = 0;
  uint32_t tx_queue_len = 0;
  std::string alias;
  bool up = false;
  std::string kind;  // empty for most hardware
  std::string parent_device;
  bool promisc = false;  // the administrator's flag, as is the next
  bool allmulti = false;
  int lower = 0;  // IFLA_LINK: what a VLAN stands on, a veth's other end; 0: nothing, or not recorded
  MacAddress permanent_mac =
      {};                    // the hardware's own, which tells the ports of one function apart; empty: none
  LinkOptions options = {};  // none in the records of older versions: then none is set back

  bool ipoib() const { return mac.ipoib(); }
  // Ends with its namespace. Hardware goes home instead: its kernel interface has a device below it, and only
  // older kernels, which do not tell, show neither device nor kind.
  bool ends_with_its_namespace() const { return parent_device.empty() && !kind.empty(); }
  bool operator==(const LinkBefore&) const = default;
};

// The settings of a VF that an attachment changes, as they were.
struct VfBefore {
  VfSettings settings;
  bool rebind = false;  // the driver takes a GUID over when it is bound
  bool operator==(const VfBefore&) const = default;
};

struct Record {
  AttachmentName attachment;
  std::string network;
  std::string boot_id;  // the state of devices does not outlive a boot
  std::string netns;
  NetnsId netns_id;
  std::string device_key;
  std::optional<DeviceId> device;
  std::optional<LinkBefore> link;         // nothing for devices without a netdev
  int index_in_pod = 0;                   // of the netdev; a move keeps it unless the pod has it already
  std::optional<uint32_t> port;           // dev_port of the netdev: which one, where the function has several
  std::optional<VfBefore> vf;             // nothing: no setting was to be changed
  std::optional<uint32_t> routing_table;  // of the pod, the attachment's own (source routing)
  MacAddress pod_mac;                     // the address it has in the pod
  std::vector<std::string> rdma;          // RDMA devices that move
  // Their indices, one for each, which neither a move nor a renaming changes (ib_device_rename(),
  // rdma_dev_change_netns()); empty: the record is an older version's.
  std::vector<uint32_t> rdma_index;
  std::vector<std::string> rdma_in_pod;  // their names there, one for each; empty: the same
  // What the IPAM plugin needs to release the address when the runtime never asks again.
  std::string config;
  std::string cni_args;
  std::string cni_path;

  bool operator==(const Record&) const = default;
  const std::string& rdma_name_in_pod(size_t i) const {
    return rdma_in_pod.empty() ? rdma[i] : rdma_in_pod[i];
  }
};

class RecordStore {
 public:
  // Creates the folders (`locks` is below /run). Errc::denied if one of them exists and is a link or another
  // user's; what others could write into is closed to them.
  static Result<RecordStore> open(std::string folder, std::string locks);
  // To read only: changes nothing, not even when the folders are missing.
  static RecordStore look(std::string folder, std::string locks) {
    return {std::move(folder), std::move(locks)};
  }

  // One attachment, one verb at a time: whatever is done under its name is done under this lock. `verb` is
  // for the message of those who wait for it, or for a lock that is taken later.
  Result<FileLock> lock_attachment(const AttachmentName& name, const std::string& verb,
                                   std::chrono::milliseconds wait_at_most);
  Result<FileLock> lock_device(const std::string& key, std::chrono::milliseconds wait_at_most) const;
  Result<FileLock> lock_rdma(std::chrono::milliseconds wait_at_most) const;
  Result<FileLock> lock_ipam(const AttachmentName& name, std::chrono::milliseconds wait_at_most) const;

  // Writes the record, then makes it the device's owner; under the locks of both. What was saved before stays
  // if it fails. Without fsync: a record has
  // to outlive a kill, and nothing can be lost by that. After a power cut the boot id makes it void anyway,
  // and an address is released by the DEL of the runtime, which brings its own configuration. What a power
  // cut leaves may be torn: whoever cannot read a record sets it aside.
  Result<> save(const Record& record) const;
  // Nothing if there is none. A record that cannot be read is Errc::protocol and names the file.
  Result<std::optional<Record>> load(const AttachmentName& name) const;
  Result<std::vector<AttachmentName>> list() const;
  // Nothing if nobody has it, or if the owner's record is gone.
  Result<std::optional<AttachmentName>> owner(const std::string& device_key) const;
  // Gives the device up, if this attachment has it, and removes the record, unless by now another one has its
  // name. Under the locks of both: neither may change between the comparison and the removal.
  Result<> remove(const Record& record) const;
  // What a kill in save() left behind. Under the device's lock, so nobody is writing.
  Result<> remove_leftovers(const std::string& device_key) const;
  // Moves a record that cannot be read out of the way, so that it blocks nobody: "NAME.corrupt".
  Result<> quarantine(const AttachmentName& name) const;

  // Whether a process is attaching the device or restoring it. Changes nothing.
  bool is_locked(const std::string& device_key) const;
  // Whether a verb is at work on the attachment, or on its device. Changes nothing.
  bool is_locked(const Record& record) const;

  // What killed processes left: owners without a record, half-written files, locks that nobody holds.
  Result<std::vector<std::string>> leftovers() const;
  // Removes one of them. False: it has come to use again.
  Result<bool> remove_leftover(const std::string& path) const;

  const std::string& folder() const { return folder_; }

 private:
  RecordStore(std::string folder, std::string locks) : folder_(std::move(folder)), locks_(std::move(locks)) {}
  std::string record_path(const AttachmentName& name) const;
  std::string owner_path(const std::string& device_key) const;
  std::string temporary_path(const std::string& device_key) const;
  Result<FileLock> lock(const std::string& name, std::chrono::milliseconds wait_at_most) const;
  std::string lock_path(const std::string& name) const;
  bool is_lock(const std::string& path) const;
  bool is_leftover(const std::string& path) const;
  std::string folder_;
  std::string locks_;
  // Once open() has checked it: below /run a less trusted process could put another folder in its place.
  std::shared_ptr<const HeldFolder> held_locks_;
  std::string purpose_;  // of the locks that are taken
};

// The text of a record file, and back.
std::string format_record(const Record& record);
Result<Record> parse_record(std::string_view text);
// The part about the netdev, which a baseline has, too.
Json format_link(const LinkBefore& link);
Result<LinkBefore> parse_link_before(const Json::Object& object);

}  // namespace vfrail

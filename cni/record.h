// RecordStore: what each attachment changed, on disk before the first change and until nothing is left to
// undo. Only root can read it. Knows nothing of netlink; it stores and finds.
//
//   STATE/                                 0700, /var/lib/cni/vfrail
//     attachments/CONTAINER:IFNAME.json    one Record, 0600
//     devices/KEY -> CONTAINER:IFNAME      who has the device
//   LOCKS/                                 0700, /run/vfrail/locks: DEL must get them on a full or read-only
//   disk
//     KEY                                  flock'd while a device is attached or given back
//     ipam:CONTAINER:IFNAME                flock'd while an IPAM plugin gives it an address, also by that
//     plugin rdma                                 flock'd for the moment of an RDMA move
#pragma once

#include "cni/net_conf.h"
#include "common/files.h"
#include "common/ids.h"
#include "common/netns.h"
#include "common/result.h"

#include <chrono>
#include <cstdint>
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
  std::optional<uint32_t> port;           // dev_port of the netdev: which one, where the function has several
  std::optional<VfBefore> vf;             // nothing: no setting was to be changed
  std::optional<uint32_t> routing_table;  // of the pod, the attachment's own (source routing)
  MacAddress pod_mac;                     // the address it has in the pod
  std::vector<std::string> rdma;          // RDMA devices that move
  std::vector<std::string> rdma_in_pod;   // their names there, one for each; empty: the same
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
  // Creates the folders (`locks` is below /run). Errc::denied if they exist and others could write into them.
  static Result<RecordStore> open(std::string folder, std::string locks);
  // To read only: changes nothing, not even when the folders are missing.
  static RecordStore look(std::string folder, std::string locks) {
    return {std::move(folder), std::move(locks)};
  }

  Result<FileLock> lock_device(const std::string& key, std::chrono::milliseconds wait_at_most) const;
  Result<FileLock> lock_rdma(std::chrono::milliseconds wait_at_most) const;
  Result<FileLock> lock_ipam(const AttachmentName& name, std::chrono::milliseconds wait_at_most) const;

  // Writes the record, then makes it the device's owner; under the device's lock. Without fsync: a record has
  // to outlive a kill, and nothing can be lost by that. After a power cut the boot id makes it void anyway,
  // and an address is released by the DEL of the runtime, which brings its own configuration. What a power
  // cut leaves may be torn: whoever cannot read a record sets it aside.
  Result<> save(const Record& record) const;
  // Nothing if there is none. A record that cannot be read is Errc::protocol and names the file.
  Result<std::optional<Record>> load(const AttachmentName& name) const;
  Result<std::vector<AttachmentName>> list() const;
  // Nothing if nobody has it, or if the owner's record is gone.
  Result<std::optional<AttachmentName>> owner(const std::string& device_key) const;
  // Gives the device up, if this attachment has it, and removes the record. Under the device's lock: the
  // owner must not change between the look and the removal.
  Result<> remove(const Record& record) const;
  // What a kill in save() left behind. Under the device's lock, so nobody is writing.
  Result<> remove_leftovers(const std::string& device_key) const;
  // Moves a record that cannot be read out of the way, so that it blocks nobody: "NAME.corrupt".
  Result<> set_aside(const AttachmentName& name) const;

  // Whether a process is attaching the device or giving it back. Changes nothing.
  bool in_hands(const std::string& device_key) const;

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
  bool is_lock(const std::string& path) const;
  bool is_leftover(const std::string& path) const;
  std::string folder_;
  std::string locks_;
};

// The text of a record file, and back.
std::string format_record(const Record& record);
Result<Record> parse_record(std::string_view text);

}  // namespace vfrail

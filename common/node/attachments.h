// Attachments: vfrail-cni's records, for whoever reads them: which attachments this node has, what each is,
// and which has a device. Reads only; cni/record writes, under its locks. Without them an answer can be out
// of date as soon as it is given.
//
//   STATE/                                 0700, /var/lib/cni/vfrail
//     attachments/CONTAINER:IFNAME.json    one Record, 0600
//     devices/KEY -> CONTAINER:IFNAME      who has the device
#pragma once

#include "common/node/attachment_record.h"
#include "common/node/sys_root.h"
#include "common/result.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vfrail {

// Which boot of the node this is: records and baselines do not outlive it. Empty where the kernel does not
// report it.
Result<std::string> boot_id(const SysRoot& sys);

class Attachments {
 public:
  // The folder need not exist: then there are none.
  explicit Attachments(std::string state_folder) : folder_(std::move(state_folder)) {}

  // Sorted.
  Result<std::vector<AttachmentName>> list() const;
  // No value if there is none. A record that cannot be read is Errc::protocol and names the file.
  Result<std::optional<Record>> load(const AttachmentName& name) const;
  // No value if nobody has it, or if the owner's record is gone.
  Result<std::optional<AttachmentName>> owner(const std::string& device_key) const;
  // Of every device that an attachment has. Reads no record.
  Result<AttachedDevices> owners() const;

  const std::string& folder() const { return folder_; }
  std::string record_path(const AttachmentName& name) const;
  std::string owner_path(const std::string& device_key) const;

 private:
  std::string folder_;
};

}  // namespace vfrail

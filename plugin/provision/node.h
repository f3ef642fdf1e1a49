// read_provision_facts(): what provision_plan() decides from, of this node or of a captured tree: from a scan
// of it, and what a scan does not have. Reads only.
#pragma once

#include "common/kernel/kernel.h"
#include "common/node/sys_root.h"
#include "common/result.h"
#include "plugin/device/inventory/inventory.h"
#include "plugin/provision/autoprobe_record.h"
#include "plugin/provision/facts.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace vfrail::plugin {

// By the ids of functions: "pod demo/trainer-0".
using UsersById = std::map<std::string, std::vector<std::string>>;

struct ProvisionSources {
  const SysRoot& sys;
  Kernel* host;  // of the host's network namespace; null: it cannot be asked
  const Inventory& inventory;
  const UsersById& users;
  std::string pods_unknown;  // why `users` may lack some; empty: it has all
  const AutoprobeRecords& records;
  bool serials = false;  // read them, which takes milliseconds for each PF
};

Result<ProvisionFacts> read_provision_facts(const ProvisionSources& sources);

// Of the PF with that address or GUID, in sriov-network-operator's file: a list of objects with pciAddress or
// pfGuid, and guids or rangeStart and rangeEnd (ib_guid_config.go of its sources). Pure.
Result<std::vector<uint64_t>> parse_guid_file(std::string_view text, const PciAddress& pf,
                                              const std::string& mac);

}  // namespace vfrail::plugin

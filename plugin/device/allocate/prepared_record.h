// PreparedRecord: what was prepared for an owner, a ResourceClaim or a pod, by its uid. It is written before
// anything that it names, and removed after all of that, so that it outlives every process in between. On a
// tmpfs: after a boot nothing is prepared.
//
//   /run/vfrail/prepared/2f0c8f1e-5b7d-4c0e-9b1a-0d3c8c0f7a11.json    0600
#pragma once

#include "common/container/allocated_unit.h"
#include "common/container/container_edits.h"
#include "common/ids.h"
#include "common/result.h"

#include <optional>
#include <string>
#include <vector>

namespace vfrail::plugin {

// Units of one resource that a container asks for.
struct AskedUnits {
  std::string resource;
  std::vector<std::string> units;
  bool operator==(const AskedUnits&) const = default;
};

// What belongs to one owner alone. Specs of shared pools do not.
struct PreparedFiles {
  std::vector<std::string> paths;         // device-info files and CDI specs
  std::vector<DeviceId> allocated_nodes;  // with a file of common/container/allocated_nodes.h
  std::vector<AllocatedUnit> units;
  bool operator==(const PreparedFiles&) const = default;
};

struct PreparedRecord {
  std::string owner;
  std::vector<std::vector<AskedUnits>> asked;  // of each container
  PreparedFiles files;
  // Of each container, when all is written. They have no hooks: those are in specs. No value: a prepare has
  // failed, been killed, or is still at work.
  std::optional<std::vector<ContainerEdits>> edits = {};
  bool operator==(const PreparedRecord&) const = default;
};

// Letters, digits, '-', '.' and '_', at most 128 characters: a uid, or a name. Errc::invalid for anything
// else.
Result<> check_owner_name(const std::string& owner);

// Atomic; the folder is created (0700).
Result<> write_prepared(const std::string& run_dir, const PreparedRecord& record);
// No value if there is none. At most 1 MiB.
Result<std::optional<PreparedRecord>> read_prepared(const std::string& run_dir, const std::string& owner);
Result<> remove_prepared(const std::string& run_dir, const std::string& owner);
// The owners that have a record, sorted.
Result<std::vector<std::string>> list_prepared(const std::string& run_dir);

}  // namespace vfrail::plugin

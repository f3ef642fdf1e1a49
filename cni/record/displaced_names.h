// DisplacedNames: the names in the host that a device lost because something else had them when it was
// restored, and what it is called in their place. Kept until it has its own again, has been renamed by
// somebody else, or the node boots. A file for each device, below the state folder of RecordStore, written
// and removed under the device's lock:
//   STATE/baselines/KEY.names
#pragma once

#include "cni/record/record.h"
#include "common/result.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vfrail::cni {

struct DisplacedName {
  std::string own;
  std::string now;
  int64_t index = 0;  // of the interface or RDMA device that is called so
  bool operator==(const DisplacedName&) const = default;
};

struct DisplacedNames {
  std::string boot_id;
  std::vector<DisplacedName> links = {};
  std::vector<DisplacedName> rdma = {};
  bool empty() const { return links.empty() && rdma.empty(); }
  bool operator==(const DisplacedNames&) const = default;
};

// Adds the name. If the one that is lost was itself in place of another, that other one is the own name.
void add_displaced(DisplacedName name, std::vector<DisplacedName>& names);

std::string format_displaced(const DisplacedNames& names);
Result<DisplacedNames> parse_displaced(std::string_view text);

// The displaced names of a device; no value if it has none. Errc::protocol if the file cannot be read.
Result<std::optional<DisplacedNames>> load_displaced(const RecordStore& store, const std::string& device_key);
// Writes the displaced names of a device; removes its file if `names` is empty.
Result<> save_displaced(const RecordStore& store, const std::string& device_key, const DisplacedNames& names);
// The keys of the devices that have displaced names.
Result<std::vector<std::string>> displaced_devices(const RecordStore& store);

}  // namespace vfrail::cni

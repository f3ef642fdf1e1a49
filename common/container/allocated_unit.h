// AllocatedUnit: the devices behind a unit of a pool that is not itself a device ("bundle-3": one device of
// each rail). The device plugin writes it at Allocate. Multus passes the name of the unit to vfrail-cni,
// which attaches all of them.
//
//   /run/vfrail/promised/bundle-3~rdma~hca.json    of the resource rdma/hca
#pragma once

#include "common/ids.h"
#include "common/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace vfrail {

inline constexpr std::string_view kBundlePrefix = "bundle-";

struct AllocatedUnit {
  std::string unit;               // "bundle-3"
  std::string resource;           // "rdma/hca"
  std::vector<DeviceId> devices;  // in the order of the rails
  bool operator==(const AllocatedUnit&) const = default;
};

// "bundle-" and a number of at most 5 digits: what such a unit is called.
bool is_unit(std::string_view text);

// Creates the folder (0700) and the file, or replaces it.
Result<> write_allocated_unit(const std::string& run_folder, const AllocatedUnit& unit);
Result<> remove_allocated_unit(const std::string& run_folder, const AllocatedUnit& unit);
// The units of that name, one for each resource that has it, sorted by resource. Empty: none has been
// allocated since boot (the folder is on a tmpfs). At most 64 KiB and 256 devices each.
Result<std::vector<AllocatedUnit>> read_allocated_units(const std::string& run_folder,
                                                        const std::string& unit);

}  // namespace vfrail

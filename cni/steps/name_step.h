// The names of a device in the host: what it is called when it returns, and that it gets its own back once
// something else does not have it any more (cni/record/displaced_names.h).
#pragma once

#include "cni/node/world.h"
#include "cni/record/displaced_names.h"
#include "common/result.h"

#include <optional>
#include <string>
#include <vector>

namespace vfrail::cni {

// What the kernel makes a name of when the old one is taken (default_device_exit_net() in net/core/dev.c).
inline constexpr const char* kFallbackName = "dev%d";

// The name to restore: the old one, unless another interface, `holder`, uses it by now; then kFallbackName.
// `own_index`: the interface's, if it is in the host already.
Result<std::string> name_in_host(const Record& record, const std::optional<Link>& holder,
                                 const std::optional<int>& own_index, World& world);

// Under the device's lock, when it is in the host again without one of its names. A failure is logged: it
// keeps no pod from ending.
void note_displaced_link(const Record& record, DisplacedName name, World& world);
void note_displaced_rdma(const Record& record, DisplacedName name, World& world);

// Under the device's lock, while no attachment has it: gives it what is free by now. A name that is still in
// use stays noted, and so does that of an interface that is up, which kernels before 6.2 do not rename; one
// that somebody else has given the device is left alone. Success and failure are logged.
void give_names_back(const std::string& device_key, World& world);

struct Renamed {
  std::string device_key;
  std::vector<std::string> names;  // a sentence each
};
// The same for every device that no attachment has, under its lock.
Result<std::vector<Renamed>> restore_all_names(World& world);

}  // namespace vfrail::cni

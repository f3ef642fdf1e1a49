// The names of a device in the host. When it returns something else can have its name; then it is called
// otherwise until the name is free (cni/record/displaced_names.h).
//   note_displaced_link, note_displaced_rdma    it is called otherwise
//   restore_names, restore_all_names            it gets its own name, if that is free by now
#pragma once

#include "cni/node/world.h"
#include "cni/record/displaced_names.h"
#include "cni/record/record.h"
#include "common/kernel/kernel.h"
#include "common/result.h"

#include <optional>
#include <string>
#include <vector>

namespace vfrail::cni {

// What the kernel makes a name of when the old one is taken (default_device_exit_net() in net/core/dev.c).
inline constexpr const char* kFallbackName = "dev%d";

// The name that the record's interface gets in the host: the old one, unless another interface, `holder`,
// uses it by now; then kFallbackName. `own_index`: the interface's, if it is in the host already.
Result<std::string> name_in_host(const Record& record, const std::optional<Link>& holder,
                                 const std::optional<int>& own_index, World& world);

// For the record's interface `now`, which is in the host: its own name, if it can have that. No value: it
// keeps the name that it has, with a warning, and this is noted; also on the last try, whoever has the name.
Result<std::optional<std::string>> own_name(const Record& record, const Link& now, bool last_try,
                                            World& world);

// Notes that the interface is in the host again without its own name. Under the device's lock. A failure is
// logged: it keeps no pod from ending.
void note_displaced_link(const Record& record, DisplacedName name, World& world);
// Notes that an RDMA device is in the host again without its own name. Under the device's lock. A failure is
// logged: it keeps no pod from ending.
void note_displaced_rdma(const Record& record, DisplacedName name, World& world);

// Under the device's lock, while no attachment has it: gives it what is free by now. A name that is still in
// use stays noted, and so does that of an interface that is up, which kernels before 6.2 do not rename; one
// that somebody else has given the device is left alone. Success and failure are logged.
void restore_names(const std::string& device_key, World& world);

// A device that got names back.
struct Renamed {
  std::string device_key;
  std::vector<std::string> names;  // a sentence each
};
// Gives every device that no attachment has the names that are free by now. Takes the lock of each.
Result<std::vector<Renamed>> restore_all_names(World& world);

}  // namespace vfrail::cni

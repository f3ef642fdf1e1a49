// The outline of a CDI spec of any plugin: its kind, its devices' names, its hooks. Pure.
#pragma once

#include "common/json.h"

#include <string>
#include <vector>

namespace vfrail {

// Paths of the programs that the runtime calls for a container with one of these devices, without . and ..:
// an absolute one stays below the root that it is looked up in.
std::vector<std::string> hooks_of(const Json& spec);

// The spec without all else: environments, mounts and arguments, which can hold secrets.
Json outline_of(const Json& spec);

}  // namespace vfrail

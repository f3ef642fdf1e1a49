// Reads `vfs` and `rdma` of a configuration (README.md of the plugin, "Making VFs"). What decides what is
// written to a card is never guessed: every unknown key and every wrong value is an error that names entry,
// key and cause. Pure.
#pragma once

#include "common/json.h"
#include "common/result.h"
#include "plugin/device/config/formats/parse_config.h"
#include "plugin/device/config/vfs.h"

#include <string_view>

namespace vfrail::plugin {

// Adds what one top-level object has.
Result<> read_vfs(ObjectReader& top, VfsConfig& out);

// All that the documents of a file have, which need no resourceList. Errc::invalid as parse_config().
Result<VfsConfig> parse_vfs(std::string_view text, const ConfigOptions& options);

}  // namespace vfrail::plugin

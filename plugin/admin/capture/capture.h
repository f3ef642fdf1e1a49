// capture(): what vfrail reads of a node, copied into a folder that `--root` accepts, so that a user can
// attach it to an issue. Without anything that identifies the machine (anonymous.h), and nothing else of the
// node.
#pragma once

#include "common/node/sys_root.h"
#include "common/result.h"

#include <string>

namespace vfrail::plugin {

// Creates `folder`; Errc::exists if it exists and is not empty. An error leaves what was copied so far.
Result<> capture(const SysRoot& sys, const std::string& folder);

}  // namespace vfrail::plugin

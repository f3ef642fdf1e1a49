// capture(): what vfrail reads of a node, copied into a folder that `--root` takes, so that a user can attach
// it to an issue. Nothing that tells one machine from another goes along (anonymous.h), and nothing else of
// the node.
#pragma once

#include "common/node/sys_root.h"
#include "common/result.h"

#include <string>

namespace vfrail {

// `folder` is made; Errc::exists if it is there and not empty. An error leaves what was copied so far.
Result<> capture(const SysRoot& sys, const std::string& folder);

}  // namespace vfrail

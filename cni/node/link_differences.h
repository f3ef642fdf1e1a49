// What of a link restore_link() (cni/steps/link_steps.h) could not restore. Pure.
#pragma once

#include "common/kernel/kernel.h"
#include "common/node/attachment_record.h"

#include <string>
#include <vector>

namespace vfrail::cni {

// A sentence each. Not the name and what follows from it: another interface can have it by now, and the
// device works without it.
std::vector<std::string> link_differences(const LinkBefore& before, const Link& now);

// The alternative names that it did not have.
std::vector<std::string> foreign_altnames(const LinkBefore& before, const Link& now);

}  // namespace vfrail::cni

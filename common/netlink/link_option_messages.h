// LinkOptions among the attributes of RTM_NEWLINK. Pure.
#pragma once

#include "common/kernel/kernel.h"

struct nlattr;

namespace vfrail {

void read_link_option(int type, const nlattr* value, LinkOptions& options);

}  // namespace vfrail

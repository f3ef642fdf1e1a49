// timed_write(): a write to a file of the kernel that has a deadline. One that hangs in a driver cannot be
// killed and would hold its process for ever, so that each is done by a child process.
#pragma once

#include "common/result.h"

#include <chrono>
#include <string>
#include <string_view>

namespace vfrail::plugin {

// One write(2) of the whole text; nothing is created. Errc::timeout when it has not returned in time: the
// child stays until the kernel lets it go, and the write may still take effect.
Result<> timed_write(const std::string& path, std::string_view text, std::chrono::milliseconds at_most);

}  // namespace vfrail::plugin

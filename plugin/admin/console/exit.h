// How the subcommands end: exit codes, and the line on stderr with the reason.
#pragma once

#include "common/result.h"

#include <cstdint>
#include <string>

namespace vfrail::plugin {

enum Exit : uint8_t { kDone = 0, kFailed = 1, kWrongConfig = 2 };

// "vfrail: ..." on stderr. Returns the code.
int fail(Exit code, const Error& error);
// Writes an answer to stdout. kFailed if that is closed or full.
int answer(const std::string& text);

// Escapes a text of others for a terminal; our line ends stay.
std::string escaped_lines(const std::string& text);

}  // namespace vfrail::plugin

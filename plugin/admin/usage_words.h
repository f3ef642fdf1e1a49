// What is wrong with a command line, in words of its user: option, value, what it takes. CLI11's own messages
// have the names of its checks in them. Pure.
#pragma once

#include "common/command/command_text.h"

#include <string>
#include <vector>

namespace CLI {
class ParseError;
}

namespace vfrail::plugin {

// "inspect: --output: must be one of table, wide, name, json, yaml, got "tabel"; did you mean "table"?".
// `command`: that was named, null: none. `arguments`: as CLI11 got them, in their order.
std::string usage_in_words(const CLI::ParseError& error, const CommandText* command,
                           const std::vector<std::string>& arguments);

}  // namespace vfrail::plugin

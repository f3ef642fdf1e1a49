// must_be_one_of(): the message for a word that is not one of those that a key or an option has. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace vfrail {

// "must be one of auto, require, off, got "requires"; did you mean "require"?"
std::string must_be_one_of(const std::vector<std::string>& known, std::string_view got);

}  // namespace vfrail

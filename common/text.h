// Small things about text that more than one unit says in its messages. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace vfrail {

// "a, b, c".
std::string joined(const std::vector<std::string>& texts, std::string_view separator = ", ");

}  // namespace vfrail

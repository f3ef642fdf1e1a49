// The manual page of a program, made from its CommandText, for `man`. Pure.
#pragma once

#include "common/command/command_text.h"

#include <string>

namespace vfrail {

// troff with the macros of man(7). `section` is 1 for users' programs, 8 for administrators'.
std::string manual_page(const CommandText& program, int section, const std::string& version);

// The command `man`, which every program has.
CommandText manual_command();

}  // namespace vfrail

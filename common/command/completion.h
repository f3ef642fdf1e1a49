// Shell completion of a program, made from its CommandText: a script for each shell. Pure.
#pragma once

#include "common/command/command_text.h"

#include <optional>
#include <string>
#include <vector>

namespace vfrail {

// The shells, as the argument of `completion` names them: "bash|zsh|fish".
inline constexpr const char* kShells = "bash|zsh|fish";

std::string bash_completion(const CommandText& program);
std::string zsh_completion(const CommandText& program);
std::string fish_completion(const CommandText& program);

// For the shell of that name; nothing for another one.
std::optional<std::string> completion_for(const std::string& shell, const CommandText& program);

// The command that prints it, the same in every program.
CommandText completion_command();

}  // namespace vfrail

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

// The script for the shell of that name; no value for a name that is not in kShells.
std::optional<std::string> completion_for(const std::string& shell, const CommandText& program);

// The command `completion`, which every program has.
CommandText completion_command();

}  // namespace vfrail

// The commands that the programs have in common whose command line is parsed by CommandText: help, version,
// completion, man; and how such a program says that it was called wrongly.
#pragma once

#include "common/command/command_text.h"
#include "common/command/command_words.h"

#include <optional>
#include <string>
#include <vector>

namespace vfrail {

// Their descriptions, for the program's.
std::vector<CommandText> standard_commands();

// On stdout. 1 if it is closed or full.
int print_text(const std::string& text);

// "PROGRAM: problem" and help on stderr. Returns 2.
int wrong_usage(const CommandText& program, const std::string& problem, const std::string& help);
// Of a word that is not a command or an option of the program.
int unknown_command(const CommandText& program, const std::string& word);

// The exit code; no value: the command is the program's own. `section` is that of its manual page.
struct ManualSection {
  int number = 8;
};
std::optional<int> run_standard_command(const CommandText& program, const CommandText& command,
                                        const CommandWords& words, ManualSection section);

}  // namespace vfrail

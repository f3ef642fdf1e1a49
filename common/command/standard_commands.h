// The commands that the programs have in common whose command line is parsed by CommandText: help, version,
// completion, man; and how such a program says that it was called wrongly.
#pragma once

#include "common/command/command_text.h"
#include "common/command/command_words.h"

#include <optional>
#include <string>
#include <vector>

namespace vfrail {

// The descriptions of help, version, completion and man, for the program's own.
std::vector<CommandText> standard_commands();

// Prints on stdout. Exit code: 0; 1 if stdout is closed or full.
int print_text(const std::string& text);

// "PROGRAM: problem" and help on stderr. Returns 2.
int wrong_usage(const CommandText& program, const std::string& problem, const std::string& help);
// wrong_usage() for a word that is not a command or an option of the program.
int unknown_command(const CommandText& program, const std::string& word);

// Runs one of standard_commands(). The exit code; no value: the command is the program's own. `section`: of
// the manual page.
struct ManualSection {
  int number = 8;
};
std::optional<int> run_standard_command(const CommandText& program, const CommandText& command,
                                        const CommandWords& words, ManualSection section);

}  // namespace vfrail

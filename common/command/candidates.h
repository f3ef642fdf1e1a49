// What a program offers for the word at the cursor, in place of a shell's completion script: kubectl asks the
// program kubectl_complete-PLUGIN for it. Pure.
#pragma once

#include "common/command/command_text.h"

#include <string>
#include <vector>

namespace vfrail {

struct Candidates {
  std::vector<std::pair<std::string, std::string>> words;  // with one line about each, or none
  bool files = false;                                      // the shell offers names of files
};

// `words` are those behind the program's name; the last is that at the cursor, and may be empty.
Candidates candidates(const CommandText& program, const std::vector<std::string>& words);
// As cobra's completion has it, which kubectl reads: a word in each line, behind a tab what it is, and in the
// last line what the shell may offer beside them.
std::string cobra_text(const Candidates& candidates);

}  // namespace vfrail

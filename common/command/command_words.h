// The arguments of a command, parsed by the command's own description. Pure.
#pragma once

#include "common/command/command_text.h"
#include "common/result.h"

#include <map>
#include <string>
#include <vector>

namespace vfrail {

struct CommandWords {
  std::map<std::string, std::string> options;  // by the last of their names: "--as"; of flags an empty text
  std::vector<std::string> arguments;

  bool has(const std::string& option) const { return options.contains(option); }
};

// "--as NAME" and "--as=NAME" are the same; arguments after "--" are not options. Errc::invalid with the word
// that is unknown, or what is missing.
Result<CommandWords> read_words(const CommandText& command, const std::vector<std::string>& words);

// "; "--dry-run" is probably meant", or empty.
std::string suggestion(const std::string& word, const std::vector<std::string>& known);
// "; it is one of vfrail-cni: vfrail-cni check-network" if another program than this one has the command; or
// empty.
std::string command_of_other_program(const std::string& word, const std::string& program);

}  // namespace vfrail

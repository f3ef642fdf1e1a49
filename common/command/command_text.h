// CommandText: the description of a program's command line. The one source of its help, its shell completion
// (completion.h) and its manual page (manual.h). A value; parses nothing.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace vfrail {

struct OptionText {
  std::vector<std::string> names;  // "-o", "--output"; of an argument without a name: none
  std::string value = {};          // what stands behind: "FILE", "DIR", "table|wide"; empty: nothing does
  std::string about = {};
  bool required = false;
  std::vector<std::string> words = {};  // that completion offers for it, where `value` does not show them
};

struct CommandText {
  std::string name;
  std::string about = {};  // one line
  std::vector<OptionText> options = {};
  std::vector<OptionText> arguments = {};  // those without a name, in their order
  std::vector<CommandText> commands = {};
  std::vector<std::pair<std::string, std::string>> sections = {};  // more of the manual: title, text
  bool works_alone = false;  // of a program: without one of its commands, too
};

// The options that every command of either program has.
OptionText help_option();

// The words that completion offers for a value: of "table|wide" both, of "FILE" none.
std::vector<std::string> choices(const OptionText& option);
bool is_file(const OptionText& option);
bool is_folder(const OptionText& option);

// "--root", "-o", "--output" ...
std::vector<std::string> option_names(const CommandText& command);
const CommandText* find_command(const CommandText& program, const std::string& name);

// "vfrail-cni install [OPTIONS] DIR"; `parent` is the program's name, or empty for the program itself.
std::string usage_line(const CommandText& command, const std::string& parent);
// What --help prints.
std::string help_text(const CommandText& command, const std::string& parent);

}  // namespace vfrail

#include "common/command/command_text.h"

#include "common/text.h"

#include <algorithm>

namespace vfrail {

namespace {

constexpr size_t kNameWidth = 24;

std::string row(std::string name, const std::string& about) {
  std::string out = "  " + name;
  if (name.size() + 2 > kNameWidth)
    out += "\n" + std::string(kNameWidth + 2, ' ');
  else
    out.resize(kNameWidth + 2, ' ');
  return out + about + "\n";
}

std::string argument_text(const OptionText& argument) {
  return argument.required ? argument.value : "[" + argument.value + "]";
}

}  // namespace

OptionText help_option() { return {{"-h", "--help"}, "", "Print this help and exit"}; }

std::vector<std::string> choices(const OptionText& option) {
  return option.value.find('|') == std::string::npos ? option.words : split(option.value, "|");
}

bool is_file(const OptionText& option) { return option.value == "FILE"; }
bool is_folder(const OptionText& option) { return option.value == "DIR"; }

std::vector<std::string> option_names(const CommandText& command) {
  std::vector<std::string> out;
  for (const OptionText& option : command.options)
    out.insert(out.end(), option.names.begin(), option.names.end());
  return out;
}

const CommandText* find_command(const CommandText& program, const std::string& name) {
  const auto at = std::find_if(program.commands.begin(), program.commands.end(),
                               [&](const CommandText& command) { return command.name == name; });
  return at == program.commands.end() ? nullptr : &*at;
}

std::string usage_line(const CommandText& command, const std::string& parent) {
  std::string out = parent + (parent.empty() ? "" : " ") + command.name + " [OPTIONS]";
  if (!command.commands.empty()) out += command.works_alone ? " [COMMAND]" : " COMMAND";
  for (const OptionText& argument : command.arguments) out += " " + argument_text(argument);
  return out;
}

std::string help_text(const CommandText& command, const std::string& parent) {
  std::string out = command.about + "\nUsage: " + usage_line(command, parent) + "\n";
  if (!command.arguments.empty()) out += "\nArguments:\n";
  for (const OptionText& argument : command.arguments) out += row(argument.value, argument.about);
  out += "\nOptions:\n";
  for (const OptionText& option : command.options)
    out += row(joined(option.names, ",") + (option.value.empty() ? "" : " " + option.value), option.about);
  if (!command.commands.empty()) out += "\nCommands:\n";
  for (const CommandText& one : command.commands) out += row(one.name, one.about);
  for (const auto& [title, text] : command.sections) out += "\n" + title + ":\n  " + text + "\n";
  return out;
}

}  // namespace vfrail

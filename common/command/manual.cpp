#include "common/command/manual.h"

#include "common/text.h"

namespace vfrail {

namespace {

// As text: a backslash is literal, a hyphen can be copied, and no line begins a request.
std::string plain(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool first = out.empty() || out.back() == '\n';
    if (first && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
  }
  return out;
}

std::string upper(std::string text) {
  for (char& c : text) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return text;
}

std::string entry(const std::string& title, const std::string& about) {
  return ".TP\n" + title + "\n" + plain(about) + "\n";
}

std::string option_title(const OptionText& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.names) names.push_back("\\fB" + plain(name) + "\\fR");
  return joined(names) + (option.value.empty() ? "" : " \\fI" + plain(option.value) + "\\fR");
}

std::string entries(const CommandText& command) {
  std::string out;
  for (const OptionText& argument : command.arguments)
    out += entry("\\fI" + plain(argument.value) + "\\fR", argument.about);
  for (const OptionText& option : command.options) out += entry(option_title(option), option.about);
  return out;
}

}  // namespace

std::string manual_page(const CommandText& program, int section, const std::string& version) {
  std::string out = ".TH " + upper(plain(program.name)) + " " + std::to_string(section) + " \"\" \"" +
                    plain(program.name + " " + version) + "\"\n.SH NAME\n" + plain(program.name) + " \\- " +
                    plain(program.about) + "\n.SH SYNOPSIS\n";
  if (program.works_alone) out += ".B " + plain(program.name) + " [OPTIONS]\n.br\n";
  for (const CommandText& command : program.commands)
    out += ".B " + plain(usage_line(command, program.name)) + "\n.br\n";
  out += ".SH OPTIONS\n" + entries(program) + ".SH COMMANDS\n";
  for (const CommandText& command : program.commands)
    out += ".SS " + plain(command.name) + "\n" + plain(command.about) + "\n" + entries(command);
  for (const auto& [title, text] : program.sections)
    out += ".SH " + upper(plain(title)) + "\n" + plain(text) + "\n";
  return out;
}

CommandText manual_command() {
  CommandText out{"man", "Print this program's manual page, for `man -l -`"};
  out.options.push_back(help_option());
  return out;
}

}  // namespace vfrail

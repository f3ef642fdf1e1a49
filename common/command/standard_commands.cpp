#include "common/command/standard_commands.h"

#include "common/command/completion.h"
#include "common/command/manual.h"
#include "common/escape.h"

#include <cstdio>

namespace vfrail {

namespace {

constexpr size_t kMaxQuoted = 60;

int run_help(const CommandText& program, const CommandWords& words) {
  const CommandText* command = words.arguments.empty() ? nullptr : find_command(program, words.arguments[0]);
  return print_text(command == nullptr ? help_text(program, "") : help_text(*command, program.name));
}

int run_completion(const CommandText& program, const CommandWords& words) {
  const auto script = completion_for(words.arguments[0], program);
  if (script) return print_text(*script);
  return wrong_usage(
      program, "completion: \"" + words.arguments[0].substr(0, kMaxQuoted) + "\" is not one of " + kShells,
      help_text(completion_command(), program.name));
}

}  // namespace

std::vector<CommandText> standard_commands() {
  const OptionText help = help_option();
  return {{"version", "Print the version", {help}},
          {"help", "Print this, or the options of a command", {help}, {{{}, "COMMAND", "The command"}}},
          completion_command(),
          manual_command()};
}

int print_text(const std::string& text) {
  return std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0 ? 1 : 0;
}

int wrong_usage(const CommandText& program, const std::string& problem, const std::string& help) {
  std::fprintf(stderr, "%s: %s\n%s", program.name.c_str(), escaped(problem).c_str(), help.c_str());
  return 2;
}

int unknown_command(const CommandText& program, const std::string& word) {
  std::vector<std::string> known;
  const bool option = word.starts_with("-");
  for (const CommandText& command : program.commands) {
    if (!option) known.push_back(command.name);
  }
  for (const OptionText& one : program.options) {
    if (option) known.insert(known.end(), one.names.begin(), one.names.end());
  }
  const std::string other = command_of_other_program(word, program.name);
  return wrong_usage(program,
                     "\"" + word.substr(0, kMaxQuoted) + "\" is not " + (option ? "an option" : "a command") +
                         (other.empty() ? suggestion(word, known) : other),
                     help_text(program, ""));
}

std::optional<int> run_standard_command(const CommandText& program, const CommandText& command,
                                        const CommandWords& words, ManualSection section) {
  if (words.has("--help")) return print_text(help_text(command, program.name));
  if (command.name == "help") return run_help(program, words);
  if (command.name == "completion") return run_completion(program, words);
  if (command.name == "man") return print_text(manual_page(program, section.number, VFRAIL_VERSION));
  if (command.name == "version") return print_text(program.name + " " VFRAIL_VERSION "\n");
  return std::nullopt;
}

}  // namespace vfrail

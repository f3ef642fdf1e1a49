#include "common/command/completion.h"

#include "common/text.h"

namespace vfrail {

namespace {

// In a shell's single quotes; for fish and the others alike.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// "_vfrail_cni": a name of a shell's function.
std::string function_name(const CommandText& program) {
  std::string out = "_" + program.name;
  for (char& c : out) c = c == '-' ? '_' : c;
  return out;
}

std::string header(const CommandText& program, const char* shell) {
  return "# Completion of " + program.name + " for " + shell + ", as `" + program.name + " completion " +
         shell + "` prints it.\n";
}

// "install|sweep".
std::string command_names(const CommandText& program) {
  std::vector<std::string> out;
  for (const CommandText& one : program.commands) out.push_back(one.name);
  return joined(out, "|");
}

std::string names_of(const CommandText& command) {
  std::vector<std::string> out;
  for (const CommandText& one : command.commands) out.push_back(one.name);
  for (const OptionText& option : command.options)
    out.insert(out.end(), option.names.begin(), option.names.end());
  for (const OptionText& argument : command.arguments) {
    const auto words = choices(argument);
    out.insert(out.end(), words.begin(), words.end());
  }
  return joined(out, " ");
}

// What bash offers for a value; nothing for a free value.
std::string bash_values(const OptionText& option) {
  if (is_file(option)) return "compgen -f -- \"$current\"";
  if (is_folder(option)) return "compgen -d -- \"$current\"";
  const auto words = choices(option);
  return words.empty() ? "" : "compgen -W " + quoted(joined(words, " ")) + " -- \"$current\"";
}

std::string bash_reply(const std::string& generator) {
  return generator.empty() ? "" : " mapfile -t COMPREPLY < <(" + generator + ");";
}

std::string bash_options(const CommandText& command, const std::string& name) {
  std::string out;
  for (const OptionText& option : command.options) {
    if (option.value.empty()) continue;
    std::vector<std::string> patterns;
    for (const std::string& one : option.names) patterns.push_back(quoted(name + " " + one));
    const bool paths = is_file(option) || is_folder(option);
    out += "    " + joined(patterns, "|") + ")" + (paths ? " compopt -o filenames 2> /dev/null;" : "") +
           bash_reply(bash_values(option)) + " return ;;\n";
  }
  return out;
}

std::string bash_words(const CommandText& command, const std::string& name) {
  std::string out = "    " + quoted(name) + ")" +
                    bash_reply("compgen -W " + quoted(names_of(command)) + " -- \"$current\"");
  for (const OptionText& argument : command.arguments) {
    if (!is_file(argument) && !is_folder(argument)) continue;
    // Beside the options, and only where no option is begun.
    out += " [[ $current == -* ]] || { compopt -o filenames 2> /dev/null;" +
           bash_reply(bash_values(argument)) + " };";
  }
  return out + " ;;\n";
}

// "-h[Print]" in single quotes, with what zsh's _arguments takes as its own escaped.
std::string zsh_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_value(const OptionText& option) {
  if (option.value.empty()) return "";
  const std::string title = ":" + zsh_text(option.value) + ":";
  if (is_file(option)) return title + "_files";
  if (is_folder(option)) return title + "_files -/";
  const auto words = choices(option);
  return words.empty() ? title : title + "(" + joined(words, " ") + ")";
}

std::string zsh_arguments(const CommandText& command, const std::string& indent) {
  std::string out;
  for (const OptionText& option : command.options) {
    for (const std::string& name : option.names) {
      // An option is offered once, by either of its names.
      const std::string others = "(" + joined(option.names, " ") + ")";
      out +=
          " \\\n" + indent + quoted(others + name + "[" + zsh_text(option.about) + "]" + zsh_value(option));
    }
  }
  for (const OptionText& argument : command.arguments)
    out += " \\\n" + indent + quoted("*" + zsh_value(argument));
  return out;
}

std::string fish_option(const OptionText& option) {
  std::string out;
  for (const std::string& name : option.names)
    out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  const auto words = choices(option);
  if (!option.value.empty())
    out += is_file(option) ? " -r -F" : is_folder(option) ? " -x -a '(__fish_complete_directories)'" : " -x";
  if (!words.empty()) out += " -a " + quoted(joined(words, " "));
  return out + " -d " + quoted(option.about);
}

}  // namespace

std::string bash_completion(const CommandText& program) {
  std::string out = header(program, "bash") + function_name(program) + R"(() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command= word
  # "--output=json" is three words to bash.
  if [[ $current == = ]]; then
    current=
  elif [[ $previous == = ]]; then
    previous=${COMP_WORDS[COMP_CWORD-2]}
  fi
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case $word in
      )" + command_names(program) +
                    R"() command=$word; break ;;
    esac
  done
  COMPREPLY=()
  case "$command $previous" in
)";
  out += bash_options(program, "");
  for (const CommandText& command : program.commands) out += bash_options(command, command.name);
  out += "  esac\n  case $command in\n" + bash_words(program, "");
  for (const CommandText& command : program.commands) out += bash_words(command, command.name);
  return out + "  esac\n}\ncomplete -F " + function_name(program) + " " + program.name + "\n";
}

std::string zsh_completion(const CommandText& program) {
  const std::string function = function_name(program);
  std::string out = "#compdef " + program.name + "\n" + header(program, "zsh") + function + R"(() {
  local state line
  local -a commands
  commands=(
)";
  for (const CommandText& command : program.commands)
    out += "    " + quoted(zsh_text(command.name) + ":" + zsh_text(command.about)) + "\n";
  out += "  )\n  _arguments -C" + zsh_arguments(program, "    ") +
         " \\\n    '1: :->command' \\\n    '*:: :->arguments'\n" + R"(  case $state in
    command) _describe command commands ;;
    arguments)
      case $words[1] in
)";
  for (const CommandText& command : program.commands)
    out += "        " + command.name + ") _arguments" + zsh_arguments(command, "          ") + " ;;\n";
  return out + "      esac ;;\n  esac\n}\n" +
         // Sourced, or found by its name in a folder of $fpath and run for the first time.
         "if [[ $funcstack[1] == " + function + " ]]; then " + function + " \"$@\"; else compdef " +
         function + " " + program.name + "; fi\n";
}

std::string fish_completion(const CommandText& program) {
  const std::string front = "complete -c " + program.name;
  std::string out = header(program, "fish") + front + " -f\n";
  for (const OptionText& option : program.options)
    out += front + " -n __fish_use_subcommand" + fish_option(option) + "\n";
  for (const CommandText& command : program.commands) {
    out += front + " -n __fish_use_subcommand -a " + command.name + " -d " + quoted(command.about) + "\n";
    const std::string below = front + " -n '__fish_seen_subcommand_from " + command.name + "'";
    for (const OptionText& option : command.options) out += below + fish_option(option) + "\n";
    for (const OptionText& argument : command.arguments) {
      const auto words = choices(argument);
      if (is_file(argument)) out += below + " -F\n";
      if (is_folder(argument)) out += below + " -a '(__fish_complete_directories)'\n";
      if (!words.empty()) out += below + " -a " + quoted(joined(words, " ")) + "\n";
    }
  }
  return out;
}

std::optional<std::string> completion_for(const std::string& shell, const CommandText& program) {
  if (shell == "bash") return bash_completion(program);
  if (shell == "zsh") return zsh_completion(program);
  if (shell == "fish") return fish_completion(program);
  return std::nullopt;
}

CommandText completion_command() {
  CommandText out{"completion", "Print the script that completes this program's words in a shell"};
  out.options.push_back(help_option());
  out.arguments.push_back({{}, kShells, "The shell", true});
  return out;
}

}  // namespace vfrail

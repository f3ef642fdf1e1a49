#include "common/command/command_words.h"

#include "common/json.h"

#include <algorithm>

namespace vfrail {

namespace {

constexpr size_t kMaxWord = 60;  // of what is quoted

const OptionText* find_option(const CommandText& command, const std::string& name) {
  const auto has_name = [&](const OptionText& option) {
    return std::find(option.names.begin(), option.names.end(), name) != option.names.end();
  };
  const auto at = std::find_if(command.options.begin(), command.options.end(), has_name);
  return at == command.options.end() ? nullptr : &*at;
}

Error not_an_option(const CommandText& command, const std::string& name) {
  std::vector<std::string> known;
  for (const OptionText& option : command.options)
    known.insert(known.end(), option.names.begin(), option.names.end());
  return {
      Errc::invalid, 0,
      "\"" + name.substr(0, kMaxWord) + "\" is not an option of " + command.name + suggestion(name, known)};
}

}  // namespace

std::string suggestion(const std::string& word, const std::vector<std::string>& known) {
  // Each short option is one letter from every other.
  if (word.starts_with("-") && word.size() <= 2) return "";
  const std::string meant = nearest_name(word.substr(0, kMaxWord), known);
  return meant.empty() ? "" : "; \"" + meant + "\" is probably meant";
}

std::string command_of_other_program(const std::string& word, const std::string& program) {
  static const std::pair<const char*, std::vector<std::string>> kPrograms[] = {
      {"vfrail",
       {"serve", "check-config", "render", "inspect", "doctor", "top", "capture", "plan", "example",
        "compare", "provision"}},
      {"vfrail-cni", {"install", "uninstall", "check-network", "sweep", "hook"}},
  };
  for (const auto& [name, commands] : kPrograms) {
    if (name != program && std::find(commands.begin(), commands.end(), word) != commands.end())
      return std::string("; it is one of ") + name + ": " + name + " " + word;
  }
  return "";
}

Result<CommandWords> read_words(const CommandText& command, const std::vector<std::string>& words) {
  CommandWords out;
  bool options = true;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (options && word == "--") {
      options = false;
      continue;
    }
    if (!options || !word.starts_with("-") || word == "-") {
      if (out.arguments.size() == command.arguments.size())
        return Error{Errc::invalid, 0, "\"" + word.substr(0, kMaxWord) + "\" is one argument too many"};
      out.arguments.push_back(word);
      continue;
    }
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const OptionText* option = find_option(command, name);
    if (option == nullptr) return not_an_option(command, name);
    if (option->value.empty() && equals != std::string::npos)
      return Error{Errc::invalid, 0, name + " takes no value"};
    const bool next = !option->value.empty() && equals == std::string::npos;
    if (next && i + 1 == words.size())
      return Error{Errc::invalid, 0, name + " needs a value: " + option->value};
    out.options[option->names.back()] = next                          ? words[++i]
                                        : equals == std::string::npos ? std::string()
                                                                      : word.substr(equals + 1);
  }
  // --help needs nothing else.
  for (size_t i = out.arguments.size(); i < command.arguments.size() && !out.has("--help"); ++i) {
    if (command.arguments[i].required)
      return Error{Errc::invalid, 0, command.arguments[i].value + " is missing"};
  }
  return out;
}

}  // namespace vfrail

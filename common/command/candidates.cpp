#include "common/command/candidates.h"

#include <algorithm>

namespace vfrail {

namespace {

// ShellCompDirective of cobra.
constexpr const char* kAlsoFiles = ":0";
constexpr const char* kNoFiles = ":4";

const OptionText* option_called(const CommandText& command, const std::string& name) {
  const auto at = std::find_if(command.options.begin(), command.options.end(), [&](const OptionText& option) {
    return std::find(option.names.begin(), option.names.end(), name) != option.names.end();
  });
  return at == command.options.end() ? nullptr : &*at;
}

class Collecting {
 public:
  explicit Collecting(const std::string& current) : current_(current) {}

  void add(const std::string& word, const std::string& about) {
    if (word.starts_with(current_)) out_.words.emplace_back(word, about);
  }
  // `before`: what stands in the same word: "--output=".
  void add_values(const OptionText& option, const std::string& before = {}) {
    for (const std::string& word : choices(option)) add(before + word, "");
    out_.files = is_file(option) || is_folder(option);
  }
  void add_options(const CommandText& command) {
    for (const OptionText& option : command.options) {
      for (const std::string& name : option.names) add(name, option.about);
    }
  }
  Candidates take() { return std::move(out_); }

 private:
  const std::string& current_;
  Candidates out_;
};

const CommandText* command_in(const CommandText& program, const std::vector<std::string>& words) {
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    if (const CommandText* found = find_command(program, words[i])) return found;
  }
  return nullptr;
}

}  // namespace

Candidates candidates(const CommandText& program, const std::vector<std::string>& words) {
  const std::string current = words.empty() ? "" : words.back();
  Collecting out(current);
  const CommandText* command = command_in(program, words);
  const CommandText& here = command == nullptr ? program : *command;
  const size_t equals = current.find('=');
  if (equals != std::string::npos) {
    const OptionText* option = option_called(here, current.substr(0, equals));
    if (option != nullptr) out.add_values(*option, current.substr(0, equals + 1));
    return out.take();
  }
  const OptionText* before = words.size() < 2 ? nullptr : option_called(here, words[words.size() - 2]);
  if (before != nullptr && !before->value.empty()) {
    out.add_values(*before);
    return out.take();
  }
  if (current.starts_with("-")) {
    out.add_options(here);
  } else if (command == nullptr) {
    for (const CommandText& one : program.commands) out.add(one.name, one.about);
  } else if (!command->arguments.empty()) {
    out.add_values(command->arguments.front());
  }
  return out.take();
}

std::string cobra_text(const Candidates& candidates) {
  std::string out;
  for (const auto& [word, about] : candidates.words) out += word + (about.empty() ? "" : "\t" + about) + "\n";
  return out + (candidates.files ? kAlsoFiles : kNoFiles) + "\n";
}

}  // namespace vfrail

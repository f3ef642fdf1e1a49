#include "plugin/admin/usage_words.h"

#include "common/one_of.h"
#include "common/text.h"

#include <algorithm>

#include <CLI/CLI.hpp>

namespace vfrail::plugin {

namespace {

// CLI11's messages begin with the option's last name, or the argument's: "--output: ...", "FILE is required".
const OptionText* find_subject(const CommandText& command, const std::string& message) {
  const std::string name = message.substr(0, message.find_first_of(": "));
  const auto has_name = [&](const OptionText& option) {
    if (option.names.empty()) return option.value == name;
    return std::find(option.names.begin(), option.names.end(), name) != option.names.end();
  };
  for (const auto* list : {&command.options, &command.arguments}) {
    const auto at = std::find_if(list->begin(), list->end(), has_name);
    if (at != list->end()) return &*at;
  }
  return nullptr;
}

std::string name_of(const OptionText& option) {
  return option.names.empty() ? option.value : option.names.back();
}

// The last one counts, as in the parser.
std::string find_value(const OptionText& option, const std::vector<std::string>& arguments) {
  std::string out;
  for (size_t i = 0; i < arguments.size(); ++i) {
    for (const std::string& name : option.names) {
      if (arguments[i] == name && i + 1 < arguments.size()) out = arguments[i + 1];
      if (arguments[i].starts_with(name + "=")) out = arguments[i].substr(name.size() + 1);
      const bool is_short = name.size() == 2 && arguments[i].size() > 2;
      if (is_short && arguments[i].starts_with(name)) out = arguments[i].substr(2);
    }
  }
  if (option.names.empty() && !arguments.empty()) out = arguments.back();
  return out;
}

std::string what_it_is(const OptionText& option) {
  return option.value.empty() || option.names.empty() ? option.about : option.value + ": " + option.about;
}

std::string explain(const CLI::ParseError& error, const OptionText& option,
                    const std::vector<std::string>& arguments) {
  const std::string name = name_of(option);
  const bool missing = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  if (missing) return name + " is missing (" + what_it_is(option) + ")";
  const std::string value = find_value(option, arguments);
  const bool no_value = dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr;
  if (no_value && option.value.empty()) return name + " takes no value";
  if (no_value) return name + " needs a value (" + what_it_is(option) + ")";
  const auto known = choices(option);
  if (!known.empty()) return name + ": " + must_be_one_of(known, value);
  std::string range = error.what();  // "--gpus: Value 99 not in range [0 - 64]"
  const size_t from = range.find("in range ");
  range = from == std::string::npos ? "" : ", which is not " + range.substr(from);
  return name + ": got \"" + value + "\"" + range + " (" + what_it_is(option) + ")";
}

}  // namespace

std::string usage_in_words(const CLI::ParseError& error, const CommandText* command,
                           const std::vector<std::string>& arguments) {
  if (command == nullptr) return "a command is missing: vfrail help names them";
  const OptionText* option = find_subject(*command, error.what());
  return command->name + ": " + (option == nullptr ? error.what() : explain(error, *option, arguments));
}

}  // namespace vfrail::plugin

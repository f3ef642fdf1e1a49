// Commands: vfrail's commands, a row each with its name, its options and what runs it, with CLI11; parses a
// command line, runs the command that it names, and describes all of them as CommandText for completion and
// the manual. The rows are in node_commands.cpp and advise_commands.cpp; completion, man and version in
// commands.cpp.
#pragma once

#include "common/command/command_text.h"
#include "plugin/admin/report/pods.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <typeindex>
#include <utility>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace vfrail::plugin {

struct ServeOptions;

// What commands need of the side of kubelet, which is linked into the program alone (plugin_service).
struct KubeletSide {
  int (*serve)(const ServeOptions&) = nullptr;
  AskKubelet ask_kubelet = {};
};

// A command: a new one is a row of add_node_commands() or add_advise_commands().
template <class Options>
struct CommandRow {
  const char* name;   // "inspect"
  const char* about;  // one line
  void (*define)(CLI::App* command, Options& options);
  std::function<int(const Options&)> run;  // the exit code
  std::vector<std::string> words = {};     // that completion offers for its first argument
};

class Commands {
 public:
  explicit Commands(const KubeletSide& kubelet = {});
  ~Commands();

  template <class Options>
  void add(const CommandRow<Options>& row) {
    const auto options = std::make_shared<Options>();
    row.define(begin(row.name, row.about), *options);
    commands_.push_back(
        {row.name, typeid(Options), options, [run = row.run, options] { return run(*options); }, row.words});
  }

  // Arguments as read_arguments() makes them, and the command line of the daemon in whose container this runs
  // (argv; empty: none). An exit code when there is nothing to run: help was requested, or the arguments are
  // wrong, which stderr reports.
  std::optional<int> parse(std::vector<std::string> arguments, const std::vector<std::string>& daemon = {});
  // Parses, and runs the command. The exit code.
  int run(std::vector<std::string> arguments, const std::vector<std::string>& daemon = {});
  // "inspect"; once parse() has found it.
  std::string parsed() const;
  // The options of the command that has options of this type, as parse() read them.
  template <class Options>
  const Options& options() const {
    return *static_cast<const Options*>(options_of(typeid(Options)));
  }

  CommandText text() const;

 private:
  struct Command {
    std::string name;
    std::type_index type;
    std::shared_ptr<void> options;
    std::function<int()> run;
    std::vector<std::string> words;
  };
  CLI::App* begin(const char* name, const char* about);
  void add_standard_commands();
  const Command* find(const std::string& name) const;
  const void* options_of(std::type_index type) const;
  int refuse(const std::string& problem) const;
  std::unique_ptr<CLI::App> app_;
  std::vector<Command> commands_;
};

// The rows. Commands() calls both.
void add_node_commands(Commands& commands, const KubeletSide& kubelet);
void add_advise_commands(Commands& commands);

// The default path of the configuration on this machine.
std::string own_config_file();
// For a command whose `file` is the value of --config-file: if the option is not given, the configuration of
// this node's serve, where that file exists. `root`: the command's --root; a captured tree has none.
void default_to_own_config(const CLI::App& command, const std::string& root, std::string& file);

}  // namespace vfrail::plugin

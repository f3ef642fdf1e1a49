#include "plugin/admin/commands.h"

#include "common/command/command_words.h"
#include "common/command/completion.h"
#include "common/command/manual.h"
#include "common/command/standard_commands.h"
#include "common/escape.h"
#include "common/node/sys_root.h"
#include "plugin/admin/argument_words.h"
#include "plugin/admin/report/scan_root.h"
#include "plugin/admin/usage_words.h"

#include <algorithm>
#include <filesystem>
#include <iostream>

#include <CLI/CLI.hpp>

namespace vfrail::plugin {

namespace {

constexpr const char* kAbout =
    "SR-IOV virtual functions with their RDMA devices for Kubernetes pods: the node's device plugin";

bool is_there(const std::string& file) {
  std::error_code unknown;
  return std::filesystem::exists(file, unknown);
}

struct CompletionOptions {
  std::string shell;
};
struct ManualOptions {};
struct VersionOptions {};

// What follows the name: a word that describes it, or its choices.
std::string value_of(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return "";
  const std::string text = option.get_positional() ? "" : option.get_option_text();
  return text.empty() ? option.get_type_name() : text;
}

OptionText option_text(const CLI::Option& option) {
  OptionText out;
  for (const std::string& name : option.get_snames()) out.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) out.names.push_back("--" + name);
  out.value = value_of(option);
  out.about = option.get_description();
  out.required = option.get_required();
  return out;
}

CommandText command_text(const CLI::App& app) {
  CommandText out{app.get_name(), app.get_description()};
  const auto is_shown = [](const CLI::Option* option) { return !option->get_group().empty(); };
  for (const CLI::Option* option : app.get_options(is_shown)) {
    OptionText text = option_text(*option);
    if (option->get_positional()) {
      // An argument's own name describes it, except for the choices of `completion`.
      if (choices(text).empty()) text.value = option->get_name(true);
      text.names.clear();
      out.arguments.push_back(std::move(text));
    } else {
      out.options.push_back(std::move(text));
    }
  }
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    out.commands.push_back(command_text(*command));
  return out;
}

// `vfrail help` and `vfrail help inspect`, as the other programs have them.
std::vector<std::string> with_help_as_option(std::vector<std::string> arguments) {
  if (arguments.empty() || arguments[0] != "help") return arguments;
  arguments.erase(arguments.begin());
  arguments.resize(std::min<size_t>(arguments.size(), 1));
  arguments.emplace_back("--help");
  return arguments;
}

}  // namespace

std::string own_config_file() { return default_config_file(is_there); }

void default_to_own_config(const CLI::App& command, const std::string& root, std::string& file) {
  if (!command.get_option("--config-file")->empty() || !is_live(root)) return;
  const std::string own = own_config_file();
  if (is_there(own)) file = own;
}

Commands::Commands(const KubeletSide& kubelet) : app_(std::make_unique<CLI::App>(kAbout, "vfrail")) {
  app_->require_subcommand(1);
  app_->get_formatter()->column_width(32);
  app_->option_defaults()->always_capture_default()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app_->set_help_flag("-h,--help", "Print this help and exit");
  app_->set_version_flag("--version", std::string("vfrail ") + VFRAIL_VERSION, "Print the version and exit");
  add_node_commands(*this, kubelet);
  add_advise_commands(*this);
  add_standard_commands();
}

Commands::~Commands() = default;

CLI::App* Commands::begin(const char* name, const char* about) { return app_->add_subcommand(name, about); }

void Commands::add_standard_commands() {
  const CommandText completion = completion_command();
  add<CompletionOptions>({"completion", completion.about.c_str(),
                          [](CLI::App* command, CompletionOptions& options) {
                            command->add_option("SHELL", options.shell, "The shell: bash, zsh or fish")
                                ->required()
                                ->check(CLI::IsMember({"bash", "zsh", "fish"}))
                                ->option_text(" ");
                          },
                          [this](const CompletionOptions& options) {
                            return print_text(completion_for(options.shell, text()).value_or(""));
                          }});
  add<ManualOptions>(
      {"man", "Print this program's manual page, for `man -l -`", [](CLI::App*, ManualOptions&) {},
       [this](const ManualOptions&) { return print_text(manual_page(text(), 8, VFRAIL_VERSION)); }});
  add<VersionOptions>({"version", "Print the version", [](CLI::App*, VersionOptions&) {},
                       [](const VersionOptions&) { return print_text("vfrail " VFRAIL_VERSION "\n"); }});
}

CommandText Commands::text() const {
  CommandText out = command_text(*app_);
  for (CommandText& command : out.commands) {
    if (command.name == "completion") command.arguments = completion_command().arguments;
    const Command& row = *find(command.name);
    if (!row.words.empty()) command.arguments.front().words = row.words;
  }
  out.sections = {
      {"Exit status", "0 done, 1 failed, 2 wrong usage or configuration."},
      {"Environment",
       "COLUMNS is the width of tables where stdout is not a terminal (80). NO_COLOR switches colours off."},
      {"Files",
       "/etc/pcidp/config.json, else /k8s-rdma-shared-dev-plugin/config.json, else "
       "/k8s-rdma-sriov-dev-plugin/config.json: the configuration."}};
  return out;
}

std::string Commands::parsed() const {
  const auto parsed = app_->get_subcommands();
  return parsed.empty() ? "" : parsed.front()->get_name();
}

const Commands::Command* Commands::find(const std::string& name) const {
  const auto row = std::find_if(commands_.begin(), commands_.end(),
                                [&](const Command& command) { return command.name == name; });
  return row == commands_.end() ? nullptr : &*row;
}

const void* Commands::options_of(std::type_index type) const {
  const auto row = std::find_if(commands_.begin(), commands_.end(),
                                [&](const Command& command) { return command.type == type; });
  return row->options.get();
}

int Commands::refuse(const std::string& problem) const {
  std::cerr << "vfrail: " << escaped(problem) << "\nRun with --help for more information.\n";
  return 2;
}

std::optional<int> Commands::parse(std::vector<std::string> arguments,
                                   const std::vector<std::string>& daemon) {
  const CommandText all = text();
  arguments = with_help_as_option(std::move(arguments));
  const CommandText* named = arguments.empty() ? nullptr : find_command(all, arguments[0]);
  if (named != nullptr) arguments = with_options_of(daemon, std::move(arguments), option_names(*named));
  if (!arguments.empty() && !arguments[0].starts_with("-") && named == nullptr) {
    std::vector<std::string> known;
    for (const CommandText& command : all.commands) known.push_back(command.name);
    const std::string other = command_of_other_program(arguments[0], "vfrail");
    return refuse("\"" + arguments[0] + "\" is not a command" +
                  (other.empty() ? suggestion(arguments[0], known) : other));
  }
  try {
    app_->parse(
        std::vector<std::string>(arguments.rbegin(), arguments.rend()));  // last first, as CLI11 expects them
  } catch (const CLI::ExtrasError& error) {
    const auto extra = app_->remaining(true);
    const bool option = !extra.empty() && extra[0].starts_with("-") && named != nullptr;
    if (!option) return app_->exit(error) == 0 ? 0 : 2;
    const std::string name = extra[0].substr(0, extra[0].find('='));
    return refuse(named->name + ": \"" + name + "\" is not an option" +
                  suggestion(name, option_names(*named)));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) return app_->exit(error);
    return refuse(usage_in_words(error, named, arguments));
  }
  return std::nullopt;
}

int Commands::run(std::vector<std::string> arguments, const std::vector<std::string>& daemon) {
  if (const auto ended = parse(std::move(arguments), daemon)) return *ended;
  return find(parsed())->run();
}

}  // namespace vfrail::plugin

// CommandLine: vfrail's commands and their options, with CLI11: their definition, their parsing, and their
// description as CommandText for completion and the manual. Runs none of them.
#pragma once

#include "common/command/command_text.h"
#include "plugin/advise_commands.h"
#include "plugin/doctor/doctor.h"
#include "plugin/doctor/explain_id.h"
#include "plugin/report/check_config.h"
#include "plugin/report/inspect.h"
#include "plugin/report/render.h"
#include "plugin/serve.h"
#include "plugin/top/top.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace vfrail::plugin {

class CommandLine {
 public:
  CommandLine();
  ~CommandLine();

  // Arguments as read_command_line() makes them, and the command line of the daemon in whose container this
  // runs (argv; empty: none). An exit code when there is nothing to run: help was requested, or the arguments
  // are wrong, which stderr reports.
  std::optional<int> parse(std::vector<std::string> words, const std::vector<std::string>& daemon = {});
  // "inspect"; once parse() has found it.
  std::string command() const;

  CommandText text() const;

  ServeOptions serve;
  CheckConfigOptions check_config;
  RenderOptions render;
  InspectOptions inspect;
  DoctorOptions doctor;
  ExplainIdOptions explain;
  CaptureOptions capture;
  TopOptions top;
  AdviceCommands advice;
  std::string shell;  // of `completion`

 private:
  int refuse(const std::string& problem) const;
  void find_own_config(const std::string& command, const std::string& root, std::string& file) const;
  std::unique_ptr<CLI::App> app_;
};

}  // namespace vfrail::plugin

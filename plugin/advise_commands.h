// The commands that advise (plan, example, convert) on the command line: their definition with CLI11, as
// plugin/commands has that of the others. Runs none of them.
#pragma once

#include "plugin/advise/convert_command.h"
#include "plugin/advise/example_command.h"
#include "plugin/advise/plan_command.h"

namespace CLI {
class App;
}  // namespace CLI

namespace vfrail::plugin {

struct AdviceCommands {
  PlanOptions plan;
  ExampleOptions example;
  ConvertOptions convert;
};

void add_plan_commands(CLI::App& app, AdviceCommands& options);

}  // namespace vfrail::plugin

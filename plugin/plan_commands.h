// The commands that advise (plan, example, convert) on the command line: their definition with CLI11, as
// plugin/commands has that of the others. Runs none of them.
#pragma once

#include "plugin/plan/convert_command.h"
#include "plugin/plan/example_command.h"
#include "plugin/plan/plan_command.h"

namespace CLI {
class App;
}  // namespace CLI

namespace vfrail {

struct PlanCommands {
  PlanOptions plan;
  ExampleOptions example;
  ConvertOptions convert;
};

void add_plan_commands(CLI::App& app, PlanCommands& options);

}  // namespace vfrail

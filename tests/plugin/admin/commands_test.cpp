// plugin/admin/commands.h: what words say, and what vfrail can be asked for.
#include "plugin/admin/commands.h"

#include "common/command/command_words.h"
#include "plugin/admin/doctor/doctor.h"
#include "plugin/admin/plan/plan_command.h"
#include "plugin/admin/report/inspect.h"
#include "plugin/admin/top/top.h"
#include "plugin/service/serve.h"
#include "tests/plugin/admin/report/run.h"

#include <algorithm>

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;
using Output = InspectOptions::Output;

TEST_CASE("the arguments of inspect are its options, repeated ones are merged") {
  Commands commands;
  REQUIRE_FALSE(commands.parse({"inspect", "--resource", "a", "03:02.1", "--resource=b", "eth0", "--pf", "p0",
                                "-o", "yaml", "--no-headers", "--unhealthy", "--config-file", "c.json"}));
  CHECK(commands.parsed() == "inspect");
  CHECK(commands.options<InspectOptions>().filter.resources == std::vector<std::string>{"a", "b"});
  CHECK(commands.options<InspectOptions>().filter.devices == std::vector<std::string>{"03:02.1", "eth0"});
  CHECK(commands.options<InspectOptions>().filter.pfs == std::vector<std::string>{"p0"});
  CHECK(commands.options<InspectOptions>().filter.unhealthy);
  CHECK(commands.options<InspectOptions>().no_headers);
  CHECK(commands.options<InspectOptions>().output == Output::yaml);
  CHECK(commands.options<InspectOptions>().config_file == "c.json");
}

TEST_CASE("the flag --explain is accepted with and without its device, and the old table name too") {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"inspect", "--explain", "eth0"}, {"inspect", "eth0", "--explain"}}) {
    Commands commands;
    REQUIRE_FALSE(commands.parse(words));
    CHECK(commands.options<InspectOptions>().explain);
    CHECK(commands.options<InspectOptions>().filter.devices == std::vector<std::string>{"eth0"});
  }
  Commands commands;
  REQUIRE_FALSE(commands.parse({"inspect", "-o", "text", "--explain"}));
  CHECK(commands.options<InspectOptions>().output == Output::table);
  CHECK(commands.options<InspectOptions>().filter.devices.empty());
}

TEST_CASE("a captured tree is not shown with the configuration of this machine") {
  Commands commands;
  REQUIRE_FALSE(commands.parse({"inspect", "--root", "/captured"}));
  CHECK(commands.options<InspectOptions>().config_file.empty());
  REQUIRE_FALSE(commands.parse({"top", "--once", "--root", "/captured"}));
  CHECK(commands.options<TopOptions>().config_file.empty());
  CHECK(commands.options<TopOptions>().count == 1);
  REQUIRE_FALSE(commands.parse({"top", "-i", "0.5", "-o", "json", "mlx5_0"}));
  CHECK(commands.options<TopOptions>().interval == 0.5);
  CHECK(commands.options<TopOptions>().json);
  CHECK(commands.options<TopOptions>().devices == std::vector<std::string>{"mlx5_0"});
}

TEST_CASE("the node's own root is known however it is written, by every command that takes one") {
  for (const char* root : {"//", "/./", "/host/.."}) {
    CAPTURE(root);
    Commands commands;
    for (const char* command : {"serve", "inspect", "doctor", "top", "plan"})
      REQUIRE_FALSE(commands.parse({command, "--root", root}));
    REQUIRE_FALSE(commands.parse({"capture", "--root", root, "/tmp/node"}));
    CHECK(commands.options<ServeOptions>().root == "/");
    CHECK(commands.options<InspectOptions>().root == "/");
    CHECK(commands.options<DoctorOptions>().root == "/");
    CHECK(commands.options<TopOptions>().root == "/");
    CHECK(commands.options<CaptureOptions>().root == "/");
    CHECK(commands.options<PlanOptions>().roots == std::vector<std::string>{"/"});
  }
}

TEST_CASE("the command line reference has every command with its options and choices") {
  const CommandText text = Commands().text();
  for (const char* name : {"serve", "inspect", "check-config", "doctor", "capture", "plan", "example",
                           "compare", "top", "completion", "man", "version"}) {
    INFO(name);
    const CommandText* command = find_command(text, name);
    REQUIRE(command != nullptr);
    CHECK_FALSE(command->about.empty());
    CHECK(command->options.front().names == std::vector<std::string>{"-h", "--help"});
    for (const OptionText& option : command->options) {
      CHECK_FALSE(option.about.empty());
      CHECK(option.value.find("TEXT") == std::string::npos);
    }
  }
  const CommandText* inspect = find_command(text, "inspect");
  const auto output =
      std::find_if(inspect->options.begin(), inspect->options.end(),
                   [](const OptionText& option) { return option.names.back() == "--output"; });
  REQUIRE(output != inspect->options.end());
  CHECK(choices(*output) == std::vector<std::string>{"table", "wide", "name", "json", "yaml"});
  // What the peers' DaemonSets have is taken, and not shown.
  const CommandText* serve = find_command(text, "serve");
  for (const OptionText& option : serve->options) CHECK(option.names.back() != "--logtostderr");
}

namespace {

// What is printed for a wrong command line.
std::string complaint(const std::vector<std::string>& words) {
  const test::Run run = test::run([&] { return Commands().parse(words).value_or(-1); });
  CHECK(run.code == 2);
  return run.err.substr(0, run.err.find("\nRun with --help"));
}

}  // namespace

TEST_CASE("every option with choices names them, and the nearest, in words of its own") {
  size_t options = 0;
  for (const CommandText& command : Commands().text().commands) {
    if (command.name == "serve") continue;  // says it in its log
    for (const OptionText& option : command.options) {
      if (choices(option).empty()) continue;
      ++options;
      const std::string name = option.names.back();
      CAPTURE(command.name, name);
      const std::string wrong = choices(option).front() + "x";
      const std::string text = complaint({command.name, name + "=" + wrong});
      CHECK(text.find("vfrail: " + command.name + ": " + name + ": must be one of " + choices(option)[0]) ==
            0);
      CHECK(text.find("got \"" + wrong + "\"; did you mean \"") != std::string::npos);
    }
  }
  CHECK(options > 6);
}

TEST_CASE("what is missing is named with what it is, and no short option for another is proposed") {
  CHECK(complaint({"capture"}).find("vfrail: capture: DIR is missing (") == 0);
  CHECK(complaint({"example"}).find("vfrail: example: --resource is missing (") == 0);
  CHECK(complaint({"version", "-o", "json"}) == "vfrail: version: \"-o\" is not an option");
  CHECK(complaint({"inspect", "-A"}) == "vfrail: inspect: \"-A\" is not an option");
  CHECK(complaint({"example", "--resource", "a", "--gpus", "99"}).find("\"99\", which is not in range") !=
        std::string::npos);
  CHECK(complaint({"check-network"}) ==
        "vfrail: \"check-network\" is not a command; it is one of vfrail-cni: vfrail-cni check-network");
}

TEST_CASE("top is refused a number of intervals that has no end") {
  CHECK(complaint({"top", "-n", "0"}).find("vfrail: top: --count: got \"0\", which is not in range 1 to ") ==
        0);
}

TEST_CASE("help is a command, as in the other programs, and theirs know what is vfrail's") {
  const auto help = [](const std::vector<std::string>& words) {
    const test::Run run = test::run([&] { return Commands().parse(words).value_or(-1); });
    CHECK(run.code == 0);
    return run.out;
  };
  CHECK(help({"help"}) == help({"--help"}));
  CHECK(help({"help", "inspect"}) == help({"inspect", "--help"}));
  for (const CommandText& command : Commands().text().commands) {
    const bool of_all = command.name == "version" || command.name == "completion" || command.name == "man" ||
                        command.name == "explain";
    INFO(command.name);
    CHECK(command_of_other_program(command.name, "vfrail-cni").empty() == of_all);
  }
}

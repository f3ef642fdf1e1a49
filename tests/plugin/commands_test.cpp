// plugin/commands.h: what words say, and what vfrail can be asked for.
#include "plugin/commands.h"

#include <algorithm>

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;
using Output = InspectOptions::Output;

TEST_CASE("the arguments of inspect are its options, repeated ones are merged") {
  CommandLine line;
  REQUIRE_FALSE(line.parse({"inspect", "--resource", "a", "03:02.1", "--resource=b", "eth0", "--pf", "p0",
                            "-o", "yaml", "--no-headers", "--unhealthy", "--config-file", "c.json"}));
  CHECK(line.command() == "inspect");
  CHECK(line.inspect.filter.resources == std::vector<std::string>{"a", "b"});
  CHECK(line.inspect.filter.devices == std::vector<std::string>{"03:02.1", "eth0"});
  CHECK(line.inspect.filter.pfs == std::vector<std::string>{"p0"});
  CHECK(line.inspect.filter.unhealthy);
  CHECK(line.inspect.no_headers);
  CHECK(line.inspect.output == Output::yaml);
  CHECK(line.inspect.config_file == "c.json");
}

TEST_CASE("the flag --explain is accepted with and without its device, and the old table name too") {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"inspect", "--explain", "eth0"}, {"inspect", "eth0", "--explain"}}) {
    CommandLine line;
    REQUIRE_FALSE(line.parse(words));
    CHECK(line.inspect.explain);
    CHECK(line.inspect.filter.devices == std::vector<std::string>{"eth0"});
  }
  CommandLine line;
  REQUIRE_FALSE(line.parse({"inspect", "-o", "text", "--explain"}));
  CHECK(line.inspect.output == Output::table);
  CHECK(line.inspect.filter.devices.empty());
}

TEST_CASE("a captured tree is not shown with the configuration of this machine") {
  CommandLine line;
  REQUIRE_FALSE(line.parse({"inspect", "--root", "/captured"}));
  CHECK(line.inspect.config_file.empty());
  REQUIRE_FALSE(line.parse({"top", "--once", "--root", "/captured"}));
  CHECK(line.top.config_file.empty());
  CHECK(line.top.count == 1);
  REQUIRE_FALSE(line.parse({"top", "-i", "0.5", "-o", "json", "mlx5_0"}));
  CHECK(line.top.interval == 0.5);
  CHECK(line.top.json);
  CHECK(line.top.devices == std::vector<std::string>{"mlx5_0"});
}

TEST_CASE("the node's own root is known however it is written, by every command that takes one") {
  for (const char* root : {"//", "/./", "/host/.."}) {
    CAPTURE(root);
    CommandLine line;
    for (const char* command : {"serve", "inspect", "doctor", "top", "plan"})
      REQUIRE_FALSE(line.parse({command, "--root", root}));
    REQUIRE_FALSE(line.parse({"capture", "--root", root, "/tmp/node"}));
    CHECK(line.serve.root == "/");
    CHECK(line.inspect.root == "/");
    CHECK(line.doctor.root == "/");
    CHECK(line.top.root == "/");
    CHECK(line.capture.root == "/");
    CHECK(line.advice.plan.root == "/");
  }
}

TEST_CASE("the command line reference has every command with its options and choices") {
  const CommandText text = CommandLine().text();
  for (const char* name : {"serve", "inspect", "check-config", "doctor", "capture", "plan", "example",
                           "convert", "top", "completion", "man", "version"}) {
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

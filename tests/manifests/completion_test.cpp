// What the programs make of their own description: completion that the shells take, manual pages that groff
// takes, and answers to what was not meant.
#include "common/explain.h"
#include "tests/support/places.h"
#include "tests/support/shell.h"

#include <regex>
#include <set>
#include <sstream>

#include <catch2/catch.hpp>

namespace vfrail::test {
namespace {

using Words = std::set<std::string>;

Words words_of(const std::string& text) {
  std::istringstream in(text);
  Words out;
  for (std::string word; in >> word;) out.insert(word);
  return out;
}

// What bash offers for the last of those words, by the script that the program prints.
Words offered(const std::string& program, const std::string& words) {
  std::string function = "_" + program;
  for (char& c : function) c = c == '-' ? '_' : c;
  const ShellOutcome outcome = run_in_shell("source <(" + program + " completion bash) && COMP_WORDS=(" +
                                            words + ") && COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) && " +
                                            function + " && printf '%s\\n' \"${COMPREPLY[@]}\"");
  INFO(outcome.output);
  REQUIRE(outcome.status == 0);
  return words_of(outcome.output);
}

// The commands of a program and their long options, as its help shows them.
Words commands_of(const std::string& program) {
  static const std::regex row(R"((?:^|\n)  ([a-z][a-z-]*) )");
  std::string help = run_in_shell(program + " --help").output;
  const size_t begin = std::min(help.find("Subcommands:"), help.find("Commands:"));
  REQUIRE(begin != std::string::npos);
  help = help.substr(begin, help.find("\n\n", begin) - begin);
  Words out;
  for (auto at = std::sregex_iterator(help.begin(), help.end(), row); at != std::sregex_iterator(); ++at)
    out.insert((*at)[1]);
  return out;
}

Words options_of(const std::string& program, const std::string& command) {
  static const std::regex option(R"((?:^|\n)  (?:-[a-z],)?(--[a-z-]+))");
  const std::string help = run_in_shell(program + " " + command + " --help").output;
  Words out;
  for (auto at = std::sregex_iterator(help.begin(), help.end(), option); at != std::sregex_iterator(); ++at)
    out.insert((*at)[1]);
  return out;
}

const char* const kPrograms[] = {"vfrail", "vfrail-cni", "vfrail-check"};

}  // namespace

TEST_CASE("bash completes every command and every option that the help shows") {
  for (const std::string program : kPrograms) {
    const Words commands = commands_of(program);
    CHECK(commands.size() >= 5);
    const Words first = offered(program, program + " ''");
    for (const std::string& command : commands) {
      INFO(program << " " << command);
      CHECK(first.contains(command));
      const Words options = options_of(program, command);
      CHECK(options.contains("--help"));
      const Words all = offered(program, program + " " + command + " --");
      for (const std::string& option : options) {
        INFO(option);
        CHECK(all.contains(option));
      }
    }
  }
}

TEST_CASE("bash completes partial words, choices, files and folders") {
  CHECK(offered("vfrail", "vfrail insp") == Words{"inspect"});
  CHECK(offered("vfrail", "vfrail inspect --unh") == Words{"--unhealthy"});
  CHECK(offered("vfrail", "vfrail inspect -o ''") == Words{"table", "wide", "name", "json", "yaml"});
  CHECK(offered("vfrail", "vfrail inspect --output = js") == Words{"json"});
  CHECK(offered("vfrail", "vfrail inspect --output =") == Words{"table", "wide", "name", "json", "yaml"});
  CHECK(offered("vfrail", "vfrail serve --config-file " + test::source_path("CONTR")) ==
        Words{test::source_path("CONTRIBUTING.md")});
  CHECK(offered("vfrail", "vfrail check-config " + test::source_path("CONTR")) ==
        Words{test::source_path("CONTRIBUTING.md")});
  CHECK(offered("vfrail", "vfrail inspect --root " + test::source_path("plug")) ==
        Words{test::source_path("plugin")});
  CHECK(offered("vfrail", "vfrail inspect --resource ''").empty());
  CHECK(offered("vfrail", "vfrail completion f") == Words{"fish"});
  CHECK(offered("vfrail-cni", "vfrail-cni sweep --d") == Words{"--dry-run"});
  CHECK(offered("vfrail-check", "vfrail-check --fail-on ''") == Words{"fault", "advice", "note"});
  CHECK(offered("vfrail-check", "vfrail-check -o json --ro") == Words{"--root"});
}

TEST_CASE("completion offers the ids that explain knows, and each of them is explained") {
  const Words node = offered("vfrail", "vfrail explain VF-");
  CHECK(node.contains("VF-N01"));
  for (const std::string& id : all_error_names()) CHECK(node.contains(id));
  const Words pod = offered("vfrail-check", "vfrail-check explain VF-");
  CHECK(pod.contains("VF-P07"));
  CHECK(offered("vfrail", "vfrail explain VF-PORT-D") == Words{"VF-PORT-DOWN"});
  for (const auto& [program, ids] : {std::pair{"vfrail", node}, {"vfrail-check", pod}}) {
    std::string all = std::string("for id in");
    for (const std::string& id : ids) all += " " + id;
    const ShellOutcome outcome =
        run_in_shell(all + "; do " + program + " explain $id > /dev/null || exit 1; done");
    INFO(program << ": " << outcome.output);
    CHECK(outcome.status == 0);
  }
}

TEST_CASE("zsh and fish accept their scripts, and fish offers the same words") {
  for (const std::string program : kPrograms) {
    INFO(program);
    const ShellOutcome zsh =
        run_in_shell(program +
                     " completion zsh > completion.zsh && zsh -f -c 'autoload -U compinit; compinit -D; "
                     "source ./completion.zsh; whence -w ${_comps[" +
                     program + "]}'");
    INFO(zsh.output);
    CHECK(zsh.status == 0);
    CHECK(zsh.output.find("function") != std::string::npos);
  }
  CHECK(run_in_shell("vfrail completion zsh").output.find(":TEXT:(VF-INVALID-INPUT ") != std::string::npos);
  const auto fish = [](const std::string& words) {
    const ShellOutcome outcome = run_in_shell(
        "vfrail completion fish > script.fish && HOME=$PWD fish --no-config -c "
        "'source script.fish; complete -C \"" +
        words + "\"'");
    INFO(outcome.output);
    CHECK(outcome.status == 0);
    std::istringstream lines(outcome.output);
    Words out;
    for (std::string line; std::getline(lines, line);) out.insert(line.substr(0, line.find('\t')));
    return out;
  };
  CHECK(fish("vfrail insp") == Words{"inspect"});
  CHECK(fish("vfrail inspect -o ") == Words{"table", "wide", "name", "json", "yaml"});
  CHECK(fish("vfrail inspect --unh") == Words{"--unhealthy"});
  CHECK(fish("vfrail explain VF-PORT-D") == Words{"VF-PORT-DOWN"});
}

TEST_CASE("a manual page has every command and option, and groff reports no warning") {
  for (const std::string program : kPrograms) {
    const ShellOutcome checked = run_in_shell(program + " man | groff -man -Tascii -ww -z");
    INFO(checked.output);
    CHECK(checked.output.empty());
    CHECK(checked.status == 0);
    const std::string page =
        run_in_shell(program + " man | groff -man -Tascii -P-c -P-b -P-u -rLL=200n").output;
    for (const std::string& command : commands_of(program)) {
      INFO(program << " " << command);
      CHECK(page.find(program + " " + command + " [OPTIONS]") != std::string::npos);
      for (const std::string& option : options_of(program, command)) {
        INFO(option);
        CHECK(page.find(option) != std::string::npos);
      }
    }
  }
}

TEST_CASE("every program prints help and version and exits with 0, and with 2 for unknown arguments") {
  for (const std::string program : kPrograms) {
    INFO(program);
    const ShellOutcome version = run_in_shell(program + " --version");
    CHECK(version.status == 0);
    CHECK(version.output == program + " " VFRAIL_VERSION "\n");
    CHECK(run_in_shell(program + " version").output == version.output);
    CHECK(run_in_shell(program + " --help").status == 0);
    for (const char* wrong : {"bogus", "--bogus"}) CHECK(run_in_shell(program + " " + wrong).status == 2);
  }
  CHECK(run_in_shell("vfrail").status == 2);
  CHECK(run_in_shell("vfrail inspct")
            .output.find("\"inspct\" is not a command; \"inspect\" is probably meant") != std::string::npos);
  CHECK(run_in_shell("vfrail inspect --confg-file x")
            .output.find("\"--confg-file\" is not an option; \"--config-file\" is probably meant") !=
        std::string::npos);
  CHECK(run_in_shell("vfrail-cni swep").output.find("\"sweep\" is probably meant") != std::string::npos);
  CHECK(run_in_shell("vfrail-cni completion csh").status == 2);
}

TEST_CASE("the CNI plugin names the other program for each of its commands") {
  constexpr const char* kWhere = "kubectl -n kube-system exec ds/vfrail -- vfrail inspect";
  for (const std::string& command : commands_of("vfrail")) {
    if (commands_of("vfrail-cni").contains(command)) continue;
    INFO(command);
    const ShellOutcome asked = run_in_shell("vfrail-cni " + command);
    CHECK(asked.status == 2);
    CHECK(asked.output.find(kWhere) != std::string::npos);
  }
  const ShellOutcome by_hand = run_in_shell("vfrail-cni");
  CHECK(by_hand.status == 0);
  CHECK(by_hand.output.find(kWhere) != std::string::npos);
}

}  // namespace vfrail::test

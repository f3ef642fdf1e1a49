#include "common/command/candidates.h"

#include <catch2/catch.hpp>

using namespace vfrail;

namespace {

CommandText a_program() {
  CommandText nodes{"nodes", "Nodes and their resources"};
  nodes.options = {{{"-h", "--help"}, "", "Print this help"},
                   {{"-o", "--output"}, "table|json", "Output format"},
                   {{"--kubeconfig"}, "FILE", "As kubectl's"},
                   {{"--node"}, "NAME", "Of this node alone"}};
  CommandText completion{"completion", "For a shell"};
  completion.arguments = {{{}, "bash|zsh", "The shell"}};
  CommandText out{"kubectl vfrail", "The cluster"};
  out.options = {{{"--version"}, "", "Print the version"}};
  out.commands = {nodes, completion};
  return out;
}

// The words in one line, "(files)" behind them where there are some.
std::string offered(const std::vector<std::string>& words) {
  const Candidates found = candidates(a_program(), words);
  std::string out;
  for (const auto& [word, about] : found.words) out += word + " ";
  return out + (found.files ? "(files)" : "");
}

}  // namespace

TEST_CASE(
    "the word at the cursor is a command, an option, one of its values or an argument, by what is before "
    "it") {
  CHECK(offered({""}) == "nodes completion ");
  CHECK(offered({}) == "nodes completion ");
  CHECK(offered({"n"}) == "nodes ");
  CHECK(offered({"--"}) == "--version ");
  CHECK(offered({"nodes", "--"}) == "--help --output --kubeconfig --node ");
  CHECK(offered({"nodes", "-o", ""}) == "table json ");
  CHECK(offered({"nodes", "--output=j"}) == "--output=json ");
  CHECK(offered({"nodes", "--kubeconfig", ""}) == "(files)");
  CHECK(offered({"nodes", "--node", ""}).empty());
  CHECK(offered({"nodes", "--help", ""}).empty());
  CHECK(offered({"nodes", "--what=x"}).empty());
  CHECK(offered({"completion", "b"}) == "bash ");
}

TEST_CASE("kubectl gets a word in a line, what it is behind a tab, and whether names of files fit as well") {
  CHECK(cobra_text(candidates(a_program(), {"n"})) == "nodes\tNodes and their resources\n:4\n");
  CHECK(cobra_text(candidates(a_program(), {"nodes", "--output", ""})) == "table\njson\n:4\n");
  CHECK(cobra_text(candidates(a_program(), {"nodes", "--kubeconfig", ""})) == ":0\n");
}

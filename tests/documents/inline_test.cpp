// Commands that documents name within sentences, and manifests in their comments: each verb and flag exists.
// Those in blocks are run (commands_test.cpp).
#include "tests/documents/page.h"
#include "tests/support/places.h"
#include "tests/support/shell.h"

#include <map>
#include <regex>
#include <set>
#include <sstream>

#include <catch2/catch.hpp>

namespace vfrail::test {
namespace {

// Beside the pages.
constexpr const char* kOthers[] = {"manifests/configmap.yaml", "manifests/daemonset.yaml",
                                   "manifests/vfrail.service", "manifests/vfrail-sweep.service",
                                   "manifests/vfrail-provision.service"};

struct Shown {
  std::string document;
  std::string program;             // "vfrail", "vfrail-cni" or "vfrail-kube"
  std::vector<std::string> words;  // behind it
};

// Of a line what a shell would run: `vfrail VERB ...` and /opt/cni/bin/vfrail, which is vfrail-cni; up to a
// comment, the end of a quotation, or what is no word of a command any more.
void collect(const std::string& document, const std::string& line, std::vector<Shown>& out) {
  static const std::regex command(
      R"re((^|[ `=])(/[a-z/]*/)?(vfrail|vfrail-cni|vfrail-kube) ([a-z][a-z-]*( +[^ `#"]+)*))re");
  for (auto at = std::sregex_iterator(line.begin(), line.end(), command); at != std::sregex_iterator();
       ++at) {
    Shown shown{document, (*at)[3], {}};
    const bool installed = (*at)[2].str() == "/opt/cni/bin/";
    if (installed) shown.program = "vfrail-cni";
    if (at->prefix().str().ends_with("kubectl")) shown.program = "vfrail-kube";  // its plugin
    std::istringstream words((*at)[4].str());
    for (std::string word; words >> word;) shown.words.push_back(word);
    out.push_back(std::move(shown));
  }
}

std::vector<Shown> all_shown() {
  static const std::regex quoted("`[^`]+`");
  std::vector<Shown> out;
  for (const Page& one : pages()) {
    for (const std::string& line : one.lines) {
      for (auto at = std::sregex_iterator(line.begin(), line.end(), quoted); at != std::sregex_iterator();
           ++at)
        collect(one.file, at->str(), out);
    }
  }
  for (const char* other : kOthers) {
    std::istringstream lines(source_text(other));
    for (std::string line; std::getline(lines, line);) {
      if (line.find("Exec") != std::string::npos || line.find("exec ") != std::string::npos)
        collect(other, line, out);
    }
  }
  return out;
}

std::string help_of(const std::string& program, const std::string& verb) {
  static std::map<std::string, std::string> known;
  const auto [at, is_new] = known.try_emplace(program + " " + verb);
  // vfrail-cni says in its usage what all of its verbs take.
  if (is_new) at->second = run_in_shell(program + " " + verb + " --help; " + program + " --help").output;
  return at->second;
}

}  // namespace

TEST_CASE("every verb and flag of a command that a document shows exists") {
  size_t flags = 0;
  const auto shown = all_shown();
  std::set<std::string> verbs;
  for (const Shown& one : shown) {
    const std::string& verb = one.words.front();
    INFO(one.document << ": " << one.program << " " << verb);
    const std::string help = help_of(one.program, verb);
    INFO(help);
    CHECK(std::regex_search(help, std::regex("(^|\\n) +(vfrail-cni )?" + verb + "\\b")));
    verbs.insert(one.program + " " + verb);
    for (std::string word : one.words) {
      word = word.substr(word.find_first_not_of('['));
      word = word.substr(0, word.find_first_of("=],.;:)"));
      if (!word.starts_with("-")) continue;
      INFO(word);
      ++flags;
      CHECK(std::regex_search(help, std::regex("[ ,\\[]" + word + "[ ,\\]=\\n]")));
    }
  }
  for (const char* verb : {"vfrail serve", "vfrail inspect", "vfrail check-config", "vfrail-cni sweep"}) {
    INFO(verb);
    CHECK(verbs.contains(verb));
  }
  CHECK(flags > 5);
}

TEST_CASE("an interval is accepted as the help shows it, with or without its unit") {
  for (const char* interval : {"60", "60s", "2m", "1h"}) {
    INFO(interval);
    const std::string output =
        run_in_shell(std::string("vfrail serve --config-file /not/there.json --rescan-interval ") + interval)
            .output;
    INFO(output);
    CHECK(output.find("/not/there.json") != std::string::npos);
    CHECK(output.find("rescan-interval") == std::string::npos);
  }
  CHECK(run_in_shell("vfrail serve --config-file /not/there.json --rescan-interval 60x").status == 2);
}

}  // namespace vfrail::test

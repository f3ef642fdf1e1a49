#include "plugin/admin/argument_words.h"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace vfrail::plugin {

namespace {

bool is_number(std::string_view word) {
  return !word.empty() &&
         std::all_of(word.begin(), word.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

// "-x" is one of our short flags, "-config-file" and "-v=10" are Go's.
std::string with_two_dashes(const std::string& word) {
  const bool one_dash =
      word.size() > 2 && word[0] == '-' && std::isalpha(static_cast<unsigned char>(word[1])) != 0;
  return one_dash && (word[2] != '=' || word[1] == 'v') ? "-" + word : word;
}

bool is_peers_name(std::string_view program) {
  const std::string_view name = program.substr(program.rfind('/') + 1);
  return name == "sriovdp" || name == "k8s-rdma-shared-dp";
}

// What is the same for all commands of a container.
constexpr const char* kShared[] = {"--config-file", "--resource-prefix", "--kubelet-root", "--cni-bin-dir"};

bool is_daemon(const std::vector<std::string>& argv) {
  if (argv.empty()) return false;
  const std::string program = argv[0].substr(argv[0].rfind('/') + 1);
  if (program != "vfrail" && !is_peers_name(program)) return false;
  const auto words = read_arguments(argv);
  return !words.empty() && words[0] == "serve";
}

bool has(const std::vector<std::string>& words, std::string_view word) {
  return std::any_of(words.begin(), words.end(), [&](const std::string& each) {
    return each == word || (each.starts_with(word) && each[word.size()] == '=');
  });
}

bool asks_for_help(std::string_view word) { return word == "-h" || word == "--help" || word == "-help"; }

}  // namespace

std::vector<std::string> read_arguments(const std::vector<std::string>& argv) {
  std::vector<std::string> out;
  for (size_t i = 1; i < argv.size(); ++i) {
    const std::string& word = argv[i];
    const bool bare_v = word == "-v" && (i + 1 == argv.size() || !is_number(argv[i + 1]));
    if (i == 1 && (bare_v || word == "--version" || word == "-version")) return {"version"};
    out.push_back(with_two_dashes(word));
  }
  const bool peer = !argv.empty() && is_peers_name(argv[0]);
  const bool flag = !out.empty() && out[0].starts_with("-") && !asks_for_help(out[0]);
  if (flag || (peer && (out.empty() || asks_for_help(out[0])))) out.insert(out.begin(), "serve");
  return out;
}

std::vector<std::string> with_options_of(const std::vector<std::string>& daemon,
                                         std::vector<std::string> words,
                                         const std::vector<std::string>& options) {
  if (!is_daemon(daemon) || words.empty() || words[0] == "serve" || has(words, "--root")) return words;
  const auto own = read_arguments(daemon);
  std::vector<std::string> inherited;
  for (const std::string name : kShared) {
    if (!has(options, name)) continue;
    for (size_t i = 1; i < own.size(); ++i) {
      if (own[i] == name && i + 1 < own.size()) inherited.push_back(name + "=" + own[i + 1]);
      if (own[i].starts_with(name + "=")) inherited.push_back(own[i]);
    }
  }
  words.insert(words.begin() + 1, inherited.begin(), inherited.end());
  return words;
}

}  // namespace vfrail::plugin

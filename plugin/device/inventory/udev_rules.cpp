#include "plugin/device/inventory/udev_rules.h"

#include "common/text.h"

#include <map>

namespace vfrail::plugin {

namespace {

constexpr const char* kProgram = "rdma_rename";

}  // namespace

std::vector<std::string> rename_modes(std::string_view rules) {
  std::vector<std::string> out;
  std::string rule;  // its lines, of which all but the last end with a backslash
  for (const std::string& line : split(rules, "\n")) {
    const size_t begin = line.find_first_not_of(" \t");
    if (rule.empty() && begin != std::string::npos && line[begin] == '#') continue;
    rule += line;
    if (rule.ends_with("\\")) {
      rule.back() = ' ';
      continue;
    }
    const auto words = split(rule, " \t\",");
    bool named = false;
    for (const std::string& word : words) {
      named = named || word.ends_with(kProgram);
      if (named && word.starts_with("NAME_")) out.push_back(word);
    }
    rule.clear();
  }
  return out;
}

std::string rename_rule(const std::string& mode) {
  return std::string("PROGRAM=\"") + kProgram + " %k " + mode + "\"";
}

Result<std::optional<std::vector<RenameRule>>> read_rename_rules(const SysRoot& sys) {
  std::map<std::string, std::string> folder_of;  // by the name of a file, which is the order of udev
  bool any = false;
  for (const char* folder : kUdevRules) {
    const auto names = TRY(sys.list(folder));
    any = any || names.has_value();
    for (const std::string& name : names.value_or(SysRoot::Names())) {
      if (name.ends_with(".rules")) folder_of.emplace(name, folder);
    }
  }
  if (!any) return std::optional<std::vector<RenameRule>>();
  std::vector<RenameRule> out;
  for (const auto& [name, folder] : folder_of) {
    const std::string file = folder + "/" + name;
    const auto text = TRY(sys.text(file));
    for (std::string& mode : rename_modes(text.value_or(""))) out.push_back({file, std::move(mode)});
  }
  return std::optional(std::move(out));
}

}  // namespace vfrail::plugin

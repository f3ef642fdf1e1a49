// Target: the device plugin's configuration file, in each of the formats that it takes. A ConfigMap is
// written by more people than may log in on the node.
#include "common/text.h"
#include "plugin/device/config/formats/parse_config.h"
#include "plugin/device/config/names.h"
#include "tests/fuzz/checks.h"

#include <algorithm>

using namespace vfrail;
using namespace vfrail::cni;
using namespace vfrail::plugin;
using namespace vfrail::fuzz;

namespace {

constexpr uint32_t kMostUnits = 150'000;  // config_shared.cpp

bool is_variable_name(const std::string& name) {
  return !name.empty() &&
         std::all_of(name.begin(), name.end(), [](char c) { return c != '=' && c != '\0' && c != '\n'; });
}

void check_resource(const ResourceConfig& resource) {
  MUST(check_resource_name(resource.name) && check_resource_prefix(resource.prefix));
  MUST(is_file_name(socket_name(resource)));
  MUST(is_variable_name(env_name(resource)));
  MUST(!resource.selectors.empty());
  MUST(resource.units <= kMostUnits);
  MUST(!resource.permissions.empty() && resource.permissions.find_first_not_of("rwm") == std::string::npos);
  for (const std::string& node : resource.extra_nodes) {
    MUST(!has_control_characters(node));
    MUST(("/" + node + "/").find("/../") == std::string::npos);
  }
}

void check_config(const Config& config) {
  for (const SkippedEntry& entry : config.skipped) MUST(!entry.reason.empty());
  std::vector<std::string> names;
  for (const ResourceConfig& resource : config.resources) {
    check_resource(resource);
    names.push_back(socket_name(resource));
  }
  std::sort(names.begin(), names.end());
  MUST(std::adjacent_find(names.begin(), names.end()) == names.end());
  for (const Warning& warning : config.warnings)
    MUST(warning.line().find(" [VF-CONFIG-") != std::string::npos);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = text_of(data, size);
  for (const bool strict : {false, true}) {
    if (!is_due(strict == (size % 2 == 1))) continue;
    const auto config = parse_config(text, {.file = "config.json", .strict = strict});
    if (config) {
      check_config(*config);
      continue;
    }
    MUST(!config.error().text.empty());
    if (is_due(size % 16 == 0)) MUST(!parse_config(text, {.file = "config.json", .strict = true}));
  }
  return 0;
}

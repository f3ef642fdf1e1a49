#include "plugin/admin/report/check_config.h"

#include "common/errors/error_id.h"
#include "common/escape.h"
#include "common/text.h"
#include "plugin/admin/console/exit.h"
#include "plugin/admin/report/config_report.h"
#include "plugin/device/config/devlink_reach.h"
#include "plugin/device/config/formats/file.h"
#include "plugin/documents/config_parts.h"
#include "plugin/documents/network.h"

#include <algorithm>
#include <iostream>
#include <set>

namespace vfrail::plugin {

namespace {

// The default folder of kubelet's plugins; `serve` checks the folder it really uses.
constexpr const char* kPluginFolder = "/var/lib/kubelet/plugins_registry";

// What the files contain together: each is a configuration of its own, for the nodes that have it, and the
// networks are for all of them.
struct Findings {
  std::string described;
  std::vector<std::string> errors;
  std::vector<std::string> warnings;
  std::vector<std::string> notes;
  std::set<std::string> resources;  // of all configurations
  bool has_config = false;
  std::vector<Network> networks;
};

void add_config(const Config& config, Findings& out) {
  out.has_config = out.has_config || !config.resources.empty();
  for (const ResourceConfig& resource : config.resources) out.resources.insert(resource.resource());
  for (const SkippedEntry& entry : config.skipped) out.errors.push_back(entry.text());
  for (const Warning& warning : config.warnings)
    (warning.id == ErrorId::config_mistake ? out.errors : out.warnings).push_back(warning.line());
  out.notes.insert(out.notes.end(), config.notes.begin(), config.notes.end());
  for (std::string& note : describe_ddp_reach(config)) out.notes.push_back(std::move(note));
  const std::string text = config_in_words(config);
  if (!text.empty()) out.described += (out.described.empty() ? "" : "\n") + text;
}

Result<> check_file(const std::string& file, const CheckConfigOptions& options, Findings& out) {
  const auto documents = TRY(read_documents(TRY(read_config_file(file)), shown_file(file)));
  const size_t networks = out.networks.size();
  for (const Document& document : documents) {
    if (is_network(document))
      out.networks.push_back(read_network(document, prefix_of_operator(options.resource_prefix)));
  }
  const Config config = TRY(parse_config(documents, {.file = shown_file(file),
                                                     .default_prefix = options.resource_prefix,
                                                     .strict = options.strict,
                                                     .socket_folder = kPluginFolder}));
  if (!config.resources.empty() || !config.vfs.entries.empty()) {
    add_config(config, out);
    if (config.resources.empty())
      out.notes.push_back(shown_file(file) +
                          ": it has vfs alone: it is for `vfrail provision`, not for serve");
  } else if (networks == out.networks.size()) {
    return Error{Errc::invalid, 0, shown_file(file) + ": " + no_config(documents), ErrorId::config_empty};
  }
  return {};
}

// The peers' documentation has many networks without a device of the plugin's.
void check_networks(Findings& out) {
  for (const Network& network : out.networks) {
    for (const std::string& fault : network.faults)
      out.errors.push_back(text_with_id(fault, ErrorId::network_config));
    for (const std::string& key : network.ignored)
      out.warnings.push_back(text_with_id(key, ErrorId::network_key_ignored));
    out.described += (out.described.empty() ? "" : "\n") + network_in_words(network);
    if (network.resource.empty() || out.resources.contains(network.resource)) continue;
    const std::string place =
        network.where + ": the resource " + network.resource + in_line(network.resource_line);
    if (!out.has_config) {
      out.notes.push_back(place + " is not checked: give the plugin's configuration, too");
    } else {
      const std::vector<std::string> known(out.resources.begin(), out.resources.end());
      const std::string meant = nearest_name(network.resource, known);
      out.errors.push_back(text_with_id(
          place + " is in no configuration that was given" +
              (meant.empty() ? "; there is " + first_few(known) : "; did you mean \"" + meant + "\"?"),
          ErrorId::network_resource));
    }
  }
}

void print(const char* kind, const std::vector<std::string>& texts) {
  for (const std::string& text : texts) std::cerr << kind << ": " << escaped(text) << "\n";
}

}  // namespace

int check_config(const CheckConfigOptions& options) {
  Findings found;
  for (const std::string& file : options.files) {
    const auto checked = check_file(file, options, found);
    if (!checked) return fail(kWrongConfig, checked.error());
  }
  check_networks(found);
  print("error", found.errors);
  print("warning", found.warnings);
  print("note", found.notes);
  const int answered = answer(escaped_lines(found.described));
  if (!found.errors.empty()) return kWrongConfig;
  if (options.strict && !found.warnings.empty()) return kFailed;
  return answered;
}

}  // namespace vfrail::plugin

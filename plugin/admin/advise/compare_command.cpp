#include "plugin/admin/advise/compare_command.h"

#include "plugin/admin/advise/compare.h"
#include "plugin/admin/console/exit.h"
#include "plugin/admin/report/scan_root.h"
#include "plugin/device/config/formats/file.h"

namespace vfrail::plugin {

namespace {

Result<std::vector<Document>> read_peers_file(const std::string& file) {
  return read_documents(TRY(read_config_file(file)), shown_file(file));
}

}  // namespace

int compare(const CompareOptions& options) {
  const auto documents = read_peers_file(options.file);
  if (!documents) return fail(kWrongConfig, documents.error());
  const auto inventory = scan_root(options.root);
  if (!inventory) return fail(kFailed, inventory.error());
  // In a captured tree nobody can be asked by devlink.
  const PeerNode node{*inventory, is_live(options.root)};
  const auto text = compare(
      {.from = options.from, .file = shown_file(options.file), .resource_prefix = options.resource_prefix},
      *documents, node);
  return text ? answer(*text) : fail(kWrongConfig, text.error());
}

}  // namespace vfrail::plugin

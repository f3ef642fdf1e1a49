#include "plugin/admin/advise/example_command.h"

#include "plugin/admin/console/exit.h"
#include "plugin/admin/report/hardware.h"
#include "plugin/admin/report/scan_root.h"
#include "plugin/device/config/formats/file.h"

namespace vfrail::plugin {

int example(const ExampleOptions& options) {
  const auto config = load_config({.file = options.config_file, .default_prefix = options.resource_prefix});
  if (!config) return fail(kWrongConfig, config.error());
  const auto node = scan_root(options.root);
  if (!node) return fail(kFailed, node.error());
  const auto hardware = read_hardware(SysRoot(options.root), {}, *node);
  const auto text = make_example(*config, options.request, &*node, hardware);
  return text ? answer(*text) : fail(kWrongConfig, text.error());
}

}  // namespace vfrail::plugin

// vfrail: the device plugin and the administrator's command line. Flags in, exit code out:
// 0 done, 1 failed, 2 wrong usage or configuration.
#include "common/container/allocated_nodes.h"
#include "common/node/sys_root.h"
#include "common/text.h"
#include "plugin/admin/argument_words.h"
#include "plugin/admin/commands.h"
#include "plugin/admin/doctor/doctor.h"
#include "plugin/admin/report/inspect.h"
#include "plugin/dra/claims_in_use.h"
#include "plugin/service/kubelet/pod_resources.h"
#include "plugin/service/serve.h"

#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace vfrail;
using namespace vfrail::plugin;

Result<DevicesInUse> ask_kubelet(const std::string& kubelet_root) {
  auto in_use = list_pod_resources({.socket = pod_resources_socket(kubelet_root), .resources = {}});
  // Without the records, devices of claims stand under the claims.
  const auto claims = read_claim_records(kRunFolder);
  if (in_use && claims) resolve_claims(claims->records, *in_use);
  return in_use;
}

// /inspect and /doctor beside the daemon's metrics: of what it serves, as `kubectl exec` would show it.
Result<std::string> inspect_of_daemon(const ServeOptions& serves) {
  InspectOptions options;
  options.root = serves.root;
  options.kubelet_root = serves.kubelet_root;
  options.config_file = serves.config_file;
  options.resource_prefix = serves.resource_prefix;
  options.strict = serves.strict_config;
  return inspect_page(options, ask_kubelet);
}

Result<std::string> doctor_of_daemon(const ServeOptions& serves) {
  DoctorOptions options;
  options.root = serves.root;
  options.kubelet_root = serves.kubelet_root;
  options.config_file = serves.config_file;
  options.resource_prefix = serves.resource_prefix;
  options.cni_bin_dir = serves.cni_bin_dir;
  return doctor_page(options);
}

int serve_with_pages(const ServeOptions& options) {
  return serve(options, {.inspect = inspect_of_daemon, .doctor = doctor_of_daemon});
}

// Of the first process, which is the daemon in its own container: `kubectl exec` runs beside it.
std::vector<std::string> daemon_command_line() {
  const auto text = SysRoot("/").text("proc/1/cmdline");
  return text && *text ? split(**text, std::string_view("\0", 1)) : std::vector<std::string>();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    Commands commands({.serve = serve_with_pages, .ask_kubelet = ask_kubelet});
    return commands.run(read_arguments({argv, argv + argc}), daemon_command_line());
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "vfrail: %s\n", failure.what());
    return 1;
  }
}

#include "cni/command_line.h"

#include "cni/install.h"
#include "cni/sweep.h"
#include "cni/world.h"
#include "common/netlink_kernel.h"

#include <cstdio>
#include <optional>

namespace vfrail {

namespace {

constexpr const char* kUsage =
    "vfrail-cni: CNI plugin that gives pods SR-IOV virtual functions with their RDMA devices\n"
    "CNI versions 0.1.0 to 1.1.0\n"
    "It is started by a container runtime, with CNI_COMMAND in the environment. By hand:\n"
    "  vfrail-cni install [--as NAME] FOLDER   copy this program to FOLDER/NAME (vfrail)\n"
    "  vfrail-cni sweep [--dry-run] [--adopt]  give back what attachments have left behind\n"
    "      --dry-run  say what would be done, and change nothing\n"
    "      --adopt    take over what sriov-cni, ib-sriov-cni and host-device have attached\n"
    "  vfrail-cni version\n";

int wrong_usage(const std::string& verb, const std::string& word) {
  std::fprintf(stderr, "vfrail-cni: %s: do not know what to do with \"%s\"\n%s", verb.c_str(), word.c_str(),
               kUsage);
  return 2;
}

int failed(const std::string& verb, const Error& error) {
  std::fprintf(stderr, "vfrail-cni: %s: %s\n", verb.c_str(), error.text.c_str());
  return 1;
}

int run_install(const std::vector<std::string>& arguments) {
  std::string folder;
  std::string name = "vfrail";
  for (size_t i = 1; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--as" && i + 1 < arguments.size()) {
      name = arguments[++i];
    } else if (folder.empty() && !argument.starts_with("-")) {
      folder = argument;
    } else {
      return wrong_usage("install", argument);
    }
  }
  if (folder.empty()) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  const auto done = install(folder, name);
  return done ? 0 : failed("install", done.error());
}

Result<SweepReport> sweep_node(const SweepOptions& options, const Environment& environment) {
  const auto host = TRY(NetlinkKernel::open_current(), "");
  auto store = options.dry_run ? look_at_store(environment) : TRY(open_store(environment), "");
  Log log;
  log.set_level(LogLevel::warning);
  World world = make_world(environment, *host, std::move(store), log);
  return sweep(world, options);
}

int run_sweep(const std::vector<std::string>& arguments, const Environment& environment) {
  SweepOptions options;
  options.cni_path = variable(environment, "CNI_PATH", "/opt/cni/bin");
  for (size_t i = 1; i < arguments.size(); ++i) {
    if (arguments[i] == "--dry-run") {
      options.dry_run = true;
    } else if (arguments[i] == "--adopt") {
      options.adopt = true;
    } else {
      return wrong_usage("sweep", arguments[i]);
    }
  }
  const auto report = sweep_node(options, environment);
  if (!report) return failed("sweep", report.error());
  std::fputs(report->text().c_str(), stdout);
  return report->all_well() ? 0 : 1;
}

}  // namespace

int run_command_line(const std::vector<std::string>& arguments, const Environment& environment) {
  const std::string verb = arguments.empty() ? "" : arguments[0];
  if (verb == "version" && arguments.size() == 1) {
    std::puts(VFRAIL_VERSION);
    return 0;
  }
  if (verb == "install") return run_install(arguments);
  if (verb == "sweep") return run_sweep(arguments, environment);
  std::fputs(kUsage, stderr);
  return arguments.empty() ? 0 : 2;
}

}  // namespace vfrail

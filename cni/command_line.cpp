#include "cni/command_line.h"

#include "cni/environment.h"
#include "cni/install.h"
#include "cni/sweep/sweep.h"
#include "common/escape.h"
#include "common/json.h"
#include "common/netlink/netlink_kernel.h"

#include <algorithm>
#include <cstdio>
#include <optional>

namespace vfrail {

namespace {

constexpr const char* kUsage =
    "vfrail-cni: CNI plugin that gives pods SR-IOV virtual functions with their RDMA devices\n"
    "CNI versions 0.1.0 to 1.1.0\n"
    "\n"
    "It is started by a container runtime, with CNI_COMMAND in the environment. By hand:\n"
    "  vfrail-cni install [--as NAME] FOLDER   copy this program to FOLDER/NAME (vfrail)\n"
    "  vfrail-cni sweep [--dry-run] [--adopt]  release the devices of pods that have ended\n"
    "  vfrail-cni version                      print the version\n"
    "  vfrail-cni help [COMMAND]               print this, or the options of a command\n";

constexpr const char* kInstallUsage =
    "vfrail-cni install [--as NAME] FOLDER\n"
    "Copies this program into FOLDER, where the container runtime looks for CNI plugins (/opt/cni/bin). A "
    "file\n"
    "of that name is replaced at once, so that no pod meets half of it.\n"
    "  --as NAME   the file's name, which is the \"type\" of networks (vfrail)\n";

constexpr const char* kSweepUsage =
    "vfrail-cni sweep [--dry-run] [--adopt]\n"
    "Releases devices and addresses of attachments whose pod has ended without a DEL. Exit code 1: "
    "something\n"
    "could not be released, which is reported.\n"
    "  --dry-run   say what would be done, and change nothing\n"
    "  --adopt     take over what sriov-cni, ib-sriov-cni and host-device have attached\n";

constexpr const char* kVersionUsage = "vfrail-cni version\nPrints the version of this program.\n";

bool asks_for_help(const std::string& word) { return word == "--help" || word == "-h"; }

const char* usage_of(const std::string& verb) {
  if (verb == "install") return kInstallUsage;
  if (verb == "sweep") return kSweepUsage;
  return verb == "version" || verb == "--version" ? kVersionUsage : kUsage;
}

int print(const char* text) { return std::fputs(text, stdout) < 0 || std::fflush(stdout) != 0 ? 1 : 0; }

int wrong_usage(const std::string& verb, const std::string& word) {
  std::fprintf(stderr, "vfrail-cni %s: \"%s\" is not known here\n%s", verb.c_str(), escaped(word).c_str(),
               usage_of(verb));
  return 2;
}

int failed(const std::string& verb, const Error& error) {
  std::fprintf(stderr, "vfrail-cni: %s: %s\n", verb.c_str(), escaped(error.text).c_str());
  return 1;
}

int run_install(const std::vector<std::string>& arguments) {
  std::string folder;
  std::string name = "vfrail";
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--as" && i + 1 < arguments.size()) {
      name = arguments[++i];
    } else if (argument.starts_with("--as=")) {
      name = argument.substr(5);
    } else if (folder.empty() && !argument.starts_with("-")) {
      folder = argument;
    } else {
      return wrong_usage("install", argument);
    }
  }
  if (folder.empty()) {
    std::fprintf(stderr, "vfrail-cni install: FOLDER is missing\n%s", kInstallUsage);
    return 2;
  }
  const auto done = install(folder, name);
  return done ? 0 : failed("install", done.error());
}

Result<SweepReport> sweep_node(const SweepOptions& options, const Environment& environment) {
  const auto host = TRY(NetlinkKernel::open_current(), "");
  auto store = options.dry_run ? open_store_read_only(environment) : TRY(open_store(environment), "");
  Log log;
  log.set_level(LogLevel::warning);
  World world = make_world(environment, *host, std::move(store), log);
  return sweep(world, options);
}

int run_sweep(const std::vector<std::string>& arguments, const Environment& environment) {
  SweepOptions options;
  options.cni_path = variable(environment, "CNI_PATH", "/opt/cni/bin");
  for (const std::string& argument : arguments) {
    if (argument == "--dry-run") {
      options.dry_run = true;
    } else if (argument == "--adopt") {
      options.adopt = true;
    } else {
      return wrong_usage("sweep", argument);
    }
  }
  const auto report = sweep_node(options, environment);
  if (!report) return failed("sweep", report.error());
  std::fputs(report->text().c_str(), stdout);
  return report->all_well() ? 0 : 1;
}

int run_version(const std::vector<std::string>& arguments) {
  if (!arguments.empty()) return wrong_usage("version", arguments[0]);
  return print(VFRAIL_VERSION "\n");
}

int unknown_verb(const std::string& verb) {
  const std::string meant = nearest_name(verb.substr(0, 60), {"install", "sweep", "version", "help"});
  std::fprintf(stderr, "vfrail-cni: \"%s\" is not a command%s\n%s", verb.c_str(),
               meant.empty() ? "" : ("; \"" + meant + "\" is probably meant").c_str(), kUsage);
  return 2;
}

}  // namespace

// By hand and not by CLI11: its streams and locales would make the static program, which is started for each
// pod, 1 MB larger.
int run_command_line(const std::vector<std::string>& arguments, const Environment& environment) {
  if (arguments.empty()) {  // started as a plugin, but by no runtime: stdout is for results
    std::fputs(kUsage, stderr);
    return 0;
  }
  const std::string& verb = arguments[0];
  const std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
  if (verb == "help") return print(usage_of(rest.empty() ? "" : rest[0]));
  if (asks_for_help(verb) || std::any_of(rest.begin(), rest.end(), asks_for_help))
    return print(usage_of(verb));
  if (verb == "version" || verb == "--version") return run_version(rest);
  if (verb == "install") return run_install(rest);
  if (verb == "sweep") return run_sweep(rest, environment);
  return unknown_verb(verb);
}

}  // namespace vfrail

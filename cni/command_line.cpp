#include "cni/command_line.h"

#include "cni/conf/check_network.h"
#include "cni/environment.h"
#include "cni/hook/container_claim.h"
#include "cni/hook/memlock.h"
#include "cni/install.h"
#include "cni/sweep/sweep.h"
#include "cni/uninstall.h"
#include "common/command/standard_commands.h"
#include "common/container/allocated_nodes.h"
#include "common/errors/error_id.h"
#include "common/escape.h"
#include "common/files.h"
#include "common/netlink/netlink_kernel.h"
#include "common/node/sys_root.h"
#include "common/programs.h"
#include "common/text.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <set>
#include <unistd.h>

namespace vfrail::cni {

namespace {

constexpr const char* kProgram = "vfrail-cni";
constexpr size_t kMaxHookState = 1 << 20;
constexpr const char* kVersionLine = "vfrail-cni " VFRAIL_VERSION "\n";

// Commands of the other program: users who call this one in /opt/cni/bin, where it is "vfrail", expect them
// here.
constexpr const char* kPluginCommands[] = {"capture", "check-config", "compare", "doctor",
                                           "example", "explain",      "inspect", "plan",
                                           "render",  "serve",        "top"};
constexpr const char* kWhereThePluginIs =
    "the device plugin's program, also vfrail, is in its pod: kubectl -n kube-system exec ds/vfrail -- "
    "vfrail "
    "inspect\n  That is any node's pod; a node's own: kubectl -n kube-system get pods -l "
    "app.kubernetes.io/name=vfrail -o wide";

int failed(const std::string& command, const Error& error) {
  std::fprintf(stderr, "vfrail-cni: %s: %s\n", command.c_str(), escaped(error.text_with_id()).c_str());
  return 1;
}

int run_install(const CommandWords& words) {
  const auto name = words.options.find("--as");
  const auto check = words.options.find("--check");
  auto done = install(words.arguments[0], name == words.options.end() ? kCniProgram : name->second);
  if (done && check != words.options.end()) done = install_check(words.arguments[0], check->second);
  return done ? 0 : failed("install", done.error());
}

Result<SweepReport> sweep_node(const SweepOptions& options, const Environment& environment) {
  const auto host = TRY(NetlinkKernel::open_current());
  auto store = options.dry_run ? open_store_read_only(environment) : TRY(open_store(environment));
  Log log;
  log.set_level(LogLevel::warning);
  World world = make_world(environment, *host, std::move(store), log);
  return sweep(world, options);
}

int run_sweep(const CommandWords& words, const Environment& environment) {
  SweepOptions options;
  options.cni_path = variable(environment, "CNI_PATH", "/opt/cni/bin");
  options.dry_run = words.has("--dry-run");
  options.adopt = words.has("--adopt");
  const auto report = sweep_node(options, environment);
  if (!report) return failed("sweep", report.error());
  return print_text(report->text()) == 0 && report->all_well() ? 0 : 1;
}

// PID 1 of a container gets TERM only with a handler for it.
void wait_for_term() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGTERM, SIGINT}) sigaddset(&signals, number);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  int number = 0;
  ::sigwait(&signals, &number);
}

int run_uninstall(const CommandWords& words) {
  const auto option = [&](const char* name, const char* fallback) {
    const auto at = words.options.find(name);
    return at == words.options.end() ? std::string(fallback) : at->second;
  };
  UninstallOptions options{.cdi_folder = option("--cdi-dir", "")};
  options.kubelet_folder = option("--kubelet-root", options.kubelet_folder.c_str());
  options.driver = option("--dra-driver", options.driver.c_str());
  // It is part of a path of which files are removed.
  if (!is_dns_subdomain(options.driver, kMaxDriverName))
    return failed("uninstall",
                  Error{Errc::invalid, 0,
                        "--dra-driver: \"" + options.driver + "\" must be a DNS name of at most " +
                            std::to_string(kMaxDriverName) + " characters, such as vfrail.io",
                        ErrorId::option_invalid});
  const auto removed =
      uninstall(places_below(normal_root(option("--root", "/")), words.arguments[0], options));
  if (!removed) return failed("uninstall", removed.error());
  std::string text;
  for (const std::string& path : *removed) text += "removed: " + escaped(path) + "\n";
  if (print_text(text) != 0) return 1;
  if (words.has("--stay")) wait_for_term();
  return 0;
}

Result<std::string> hook_memlock(const CommandWords& words) {
  std::optional<LockedMemory> wanted;
  if (words.arguments.size() > 1) wanted = TRY(parse_locked_memory(words.arguments[1]));
  const std::string text = TRY(read_stream(STDIN_FILENO, kMaxHookState), "read stdin");
  return raise_lock_limit(TRY(parse_oci_state(text), "state of the container"), wanted);
}

int run_hook_claim(const CommandText& program, const CommandText& command, const CommandWords& words,
                   const Environment& environment) {
  if (words.arguments.size() < 2)
    return wrong_usage(program, "hook claim: the uid of the claim is missing", help_text(command, kProgram));
  const auto check = [&]() -> Result<std::string> {
    const std::string text = TRY(read_stream(STDIN_FILENO, kMaxHookState), "read stdin");
    return check_claim(TRY(parse_oci_state(text), "state of the container"), words.arguments[1],
                       variable(environment, "VFRAIL_RUN_DIR", kRunFolder),
                       open_store_read_only(environment));
  };
  const auto done = check();
  return done ? print_text(escaped(*done) + "\n") : failed("hook claim", done.error());
}

// A memlock hook that fails makes its container fail, which then is worse off than without RDMA.
int run_hook(const CommandText& program, const CommandText& command, const CommandWords& words,
             const Environment& environment) {
  if (words.arguments[0] == "claim") return run_hook_claim(program, command, words, environment);
  if (words.arguments[0] != "memlock")
    return wrong_usage(program,
                       "hook: \"" + words.arguments[0].substr(0, 60) + "\" is neither memlock nor claim",
                       help_text(command, kProgram));
  const auto done = hook_memlock(words);
  if (done) return print_text(escaped(*done) + "\n");
  const int code = failed("hook memlock", done.error());
  return words.has("--required") ? code : 0;
}

Result<NetworkReport> report_networks(const CommandWords& words) {
  std::set<std::string> types{"vfrail"};
  if (const auto also = words.options.find("--as"); also != words.options.end()) {
    for (const std::string& type : split(also->second, ",")) types.insert(type);
  }
  const std::string file = words.arguments.empty() ? "-" : words.arguments[0];
  if (file == "-")
    return check_networks(TRY(read_stream(STDIN_FILENO, kMaxNetworksBytes), "read stdin"), types);
  const auto text = TRY(read_file(file, kMaxNetworksBytes));
  if (!text) return Error{Errc::not_found, 0, file + ": there is no such file"};
  auto report = check_networks(*text, types);
  if (!report) return std::move(report.error()).in(file);
  return report;
}

int run_check_network(const CommandWords& words) {
  const auto report = report_networks(words);
  if (!report) return failed("check-network", report.error());
  return print_text(report->text) == 0 && report->all_well ? 0 : 1;
}

int no_command(const CommandText& program, const std::string& name) {
  const bool other =
      std::find(std::begin(kPluginCommands), std::end(kPluginCommands), name) != std::end(kPluginCommands);
  if (!other) return unknown_command(program, name);
  std::fprintf(stderr, "vfrail-cni: \"%s\" is not a command of this CNI plugin; %s\n", name.c_str(),
               kWhereThePluginIs);
  return 2;
}

int run_command(const CommandText& program, const CommandText& command, const CommandWords& words,
                const Environment& environment) {
  if (const auto done = run_standard_command(program, command, words, {8})) return *done;
  if (command.name == "install") return run_install(words);
  if (command.name == "check-network") return run_check_network(words);
  if (command.name == "sweep") return run_sweep(words, environment);
  if (command.name == "uninstall") return run_uninstall(words);
  return run_hook(program, command, words, environment);
}

}  // namespace

CommandText command_line_text() {
  const OptionText help = help_option();
  CommandText out{kProgram, "CNI plugin that gives pods SR-IOV virtual functions with their RDMA devices"};
  out.options = {help, {{"--version"}, "", "Print the version and exit"}};
  out.commands = {
      {"install",
       "Copy this program into a folder of CNI plugins; a file of that name is replaced at once",
       {help,
        {{"--as"}, "NAME", "The file's name, which is the \"type\" of networks (vfrail)"},
        {{"--check"}, "FILE", "Also copy this vfrail-check, for containers of resources with mountCheck"}},
       {{{}, "DIR", "Where the container runtime looks for CNI plugins: /opt/cni/bin", true}}},
      {"check-network",
       "Check network configurations: what ADD would refuse, and keys that it would ignore. kubectl get "
       "network-attachment-definitions --all-namespaces -o json | vfrail-cni check-network",
       {help,
        {{"--as"},
         "TYPES",
         "Also plugins of these types, with commas, as if they were vfrail: sriov,host-device"}},
       {{{}, "FILE", "JSON: NetworkAttachmentDefinitions, or a file of /etc/cni/net.d; - or none is stdin"}}},
      {"sweep",
       "Release devices and addresses of attachments whose pod has ended without a DEL",
       {help,
        {{"--dry-run"}, "", "Say what would be done, and change nothing"},
        {{"--adopt"}, "", "Take over what sriov-cni, ib-sriov-cni and host-device have attached"}}},
      {"uninstall",
       "Remove what vfrail has put on the node: this program from DIR, under each name that it has there, "
       "the records, locks, CDI specs and device-info files of vfrail, and what its DRA driver has in "
       "kubelet's folders; refused while pods have devices",
       {help,
        {{"--root"}, "DIR", "The node's files, those of the CNI plugins too, are below this folder (/)"},
        {{"--cdi-dir"},
         "DIR",
         "Also remove CDI specs of vfrail from here, where vfrail serve --cdi-dir wrote them"},
        {{"--kubelet-root"},
         "DIR",
         "kubelet's root directory, the same as for vfrail serve (default: /var/lib/kubelet)"},
        {{"--dra-driver"},
         "NAME",
         "Name of the DRA driver, the same as for vfrail serve (default: vfrail.io)"},
        {{"--stay"}, "", "Wait for TERM when it is done, as a DaemonSet's container must"}},
       {{{}, "DIR", "Where the container runtime looks for CNI plugins: /opt/cni/bin", true}}},
      {"hook",
       "Run as a hook of a container runtime, which the plugin's CDI specs name: raise how much memory the "
       "container may lock, or stop one whose pod has not got the devices of its claim",
       {help, {{"--required"}, "", "Fail, and with it the container, if it cannot be raised"}},
       {{{},
         "HOOK",
         "memlock or claim, as createRuntime of the OCI specification; the state is on stdin",
         true},
        {{},
         "VALUE",
         "memlock: bytes, or unlimited; without it the container's memory limit. claim: its uid"}}}};
  for (CommandText& command : standard_commands()) out.commands.push_back(std::move(command));
  out.sections = {{"CNI",
                   "A container runtime starts it, with CNI_COMMAND in the environment; CNI versions "
                   "0.1.0 to 1.1.0."},
                  {"Exit status", "0 done, 1 failed, 2 wrong usage."},
                  {"See also", kWhereThePluginIs}};
  return out;
}

// By hand and not by CLI11: its streams and locales would make the static program, which is started for each
// pod, 0.9 MB larger, and run their constructors at each start.
int run_command_line(const std::vector<std::string>& arguments, const Environment& environment) {
  const CommandText program = command_line_text();
  if (arguments.empty()) {  // started without a command: stdout is for results
    std::fputs(help_text(program, "").c_str(), stderr);
    return 0;
  }
  const std::string& name = arguments[0];
  if (name == "-h" || name == "--help") return print_text(help_text(program, ""));
  if (name == "--version") return print_text(kVersionLine);
  const CommandText* command = find_command(program, name);
  if (command == nullptr) return no_command(program, name);
  const auto words = read_words(*command, {arguments.begin() + 1, arguments.end()});
  if (!words) return wrong_usage(program, name + ": " + words.error().text, help_text(*command, kProgram));
  return run_command(program, *command, *words, environment);
}

}  // namespace vfrail::cni

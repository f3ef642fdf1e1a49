#include "plugin/kube/command_line.h"

#include "common/command/candidates.h"
#include "common/command/standard_commands.h"
#include "common/escape.h"
#include "common/log.h"
#include "common/terminal.h"
#include "common/text.h"
#include "plugin/kube/access/cluster_access.h"
#include "plugin/kube/controller/controller.h"
#include "plugin/kube/fabric/fabric_test.h"
#include "plugin/kube/node/device_check.h"
#include "plugin/kube/node/node_api.h"
#include "plugin/kube/until_signal.h"
#include "plugin/kube/view/pod_checks.h"
#include "plugin/kube/view/view_commands.h"

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <malloc.h>
#include <unistd.h>

namespace vfrail::kube {

namespace {

constexpr const char* kPlugin = "kubectl-vfrail";
// Under this name kubectl asks for what it offers behind `kubectl vfrail`.
constexpr const char* kCompletion = "kubectl_complete-vfrail";
constexpr const char* kOutputs = "table|wide|json|yaml";

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

std::string value_of(const CommandWords& words, const char* option, std::string otherwise = {}) {
  const auto there = words.options.find(option);
  return there == words.options.end() ? std::move(otherwise) : there->second;
}

Result<uint32_t> number_of(const CommandWords& words, const char* option, uint32_t otherwise, uint32_t most) {
  if (!words.has(option)) return otherwise;
  const auto number = parse_decimal(words.options.at(option));
  if (number && *number >= 1 && *number <= most) return *number;
  return Error{
      Errc::invalid, 0,
      std::string(option) + ": \"" + words.options.at(option) + "\" must be 1 to " + std::to_string(most)};
}

Result<ClusterAccess> find_access(const CommandWords& words) {
  return find_cluster({.kubeconfig = value_of(words, "--kubeconfig"),
                       .context = value_of(words, "--context"),
                       .environment = environment});
}

int fail(const CommandText& program, const Error& error) {
  std::fprintf(stderr, "%s: %s\n", program.name.c_str(), escaped(error.text).c_str());
  return error.code == Errc::invalid ? 2 : 1;
}

// --- controller

std::string own_name() {
  const std::string pod = environment("POD_NAME");
  if (!pod.empty()) return pod;
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  return host;
}

Result<> set_up_log(const CommandWords& words, Log& log) {
  const std::string level = value_of(words, "--log-level", "info");
  const auto parsed = parse_log_level(level);
  if (!parsed)
    return Error{Errc::invalid, 0, "--log-level: \"" + level + "\" is not one of error|warning|info|debug"};
  log.set_level(*parsed);
  const std::string format = value_of(words, "--log-format", "text");
  if (format != "text" && format != "json")
    return Error{Errc::invalid, 0, "--log-format: \"" + format + "\" is not one of text|json"};
  log.set_format(format == "json" ? LogFormat::json : LogFormat::text);
  return {};
}

// glibc gives each thread an arena of its own, and keeps in the heap what a list has taken.
void limit_heap() {
  ::mallopt(M_ARENA_MAX, 1);
  ::mallopt(M_MMAP_THRESHOLD, 128 * 1024);
}

Result<int> run_controller(const CommandWords& words) {
  limit_heap();
  Log log;
  TRY(set_up_log(words, log));
  const ClusterAccess access = TRY(find_access(words));
  const std::string type = value_of(words, "--cni-type", "vfrail");
  ControllerOptions options{.cni_type = type,
                            .lease = {value_of(words, "--namespace", access.name_space), "vfrail-controller"},
                            .instance = own_name()};
  log.info("started",
           {{"version", VFRAIL_VERSION}, {"access", access.source}, {"lease", options.lease.text()}});
  UntilSignal until_signal;
  Controller(access, std::move(options), log).run(until_signal.token());
  log.info("stopped");
  return 0;
}

// --- the API side of a node

Result<NodeAgentOptions> read_node_options(const CommandWords& words) {
  NodeAgentOptions out{.driver = value_of(words, "--driver", kDraDriver),
                       .node = value_of(words, "--node", environment("NODE_NAME"))};
  if (!is_dns_subdomain(out.driver, kMaxDriverName))
    return Error{
        Errc::invalid, 0,
        "--driver: \"" + out.driver + "\" must be a DNS name of at most 63 characters, such as vfrail.io"};
  if (out.node.empty())
    return Error{Errc::invalid, 0, "--node: the name of the Node is missing, and $NODE_NAME is not set"};
  if (!is_dns_subdomain(out.node, 253))
    return Error{Errc::invalid, 0, "--node: \"" + out.node + "\" is not the name of a Node"};
  return out;
}

Result<int> run_node(const CommandWords& words) {
  limit_heap();
  Log log;
  TRY(set_up_log(words, log));
  const std::string socket = value_of(words, "--socket");
  if (socket.empty()) return Error{Errc::invalid, 0, "--socket: the path of the socket is missing"};
  const NodeAgentOptions options = TRY(read_node_options(words));
  const ClusterAccess access = TRY(find_access(words));
  UntilSignal until_signal;
  Claims claims(access, options.driver, options.node);
  NodeAgent agent(access, options, log);
  std::optional<NodeEvents> events;
  if (words.has("--events")) events.emplace(access, options.node, log);
  const NodeApi api(options, agent, claims, events ? &*events : nullptr);
  const auto server =
      TRY(SocketServer::start(socket, [&api](const SocketRequest& request) { return api.answer(request); }));
  log.info("started", {{"version", VFRAIL_VERSION},
                       {"access", access.source},
                       {"node", options.node},
                       {"driver", options.driver},
                       {"socket", socket}});
  until_signal.wait();
  claims.stop();
  log.info("stopped");
  return 0;
}

// --- the cluster in one view

using Show = ViewAnswer (*)(const OpenReader&, const ViewOptions&);

Result<ViewOptions> read_view_options(const CommandWords& words) {
  ViewOptions out;
  const std::string output = value_of(words, "--output", "table");
  using Output = ViewOptions::Output;
  if (output == "table")
    out.output = Output::table;
  else if (output == "wide")
    out.output = Output::wide;
  else if (output == "json")
    out.output = Output::json;
  else if (output == "yaml")
    out.output = Output::yaml;
  else
    return Error{Errc::invalid, 0, "--output: \"" + output + "\" is not one of " + kOutputs};
  out.headers = !words.has("--no-headers");
  out.width = find_terminal().width;
  out.traffic = words.has("--traffic");
  out.filter = {value_of(words, "--node"), value_of(words, "--resource"), value_of(words, "--namespace")};
  return out;
}

Result<int> run_view(Show show, const CommandWords& words) {
  const ViewOptions options = TRY(read_view_options(words));
  const ClusterAccess access = TRY(find_access(words));
  const ViewAnswer answer = show(reader_of(access), options);
  return print_text(answer.text) != 0 ? 1 : answer.code;
}

Result<int> run_pod_checks(const CommandWords& words) {
  const ViewOptions options = TRY(read_view_options(words));
  const ClusterAccess access = TRY(find_access(words));
  PodSelection selection{.name_space = value_of(words, "--namespace", access.name_space)};
  selection.labels = value_of(words, "--selector");
  selection.job = value_of(words, "--job");
  if (!selection.labels.empty() && !selection.job.empty())
    return Error{Errc::invalid, 0, "--job and --selector: one of them says which pods"};
  UntilSignal until_signal;
  const auto run = [&](const PodCommand& command) {
    return run_in_pod(access, command, until_signal.token());
  };
  const ViewAnswer answer = show_pod_checks(reader_of(access), run, selection, options);
  return print_text(answer.text) != 0 ? 1 : answer.code;
}

// --- the test of the fabric

Result<FabricOptions> read_fabric_options(const CommandWords& words, const ClusterAccess& access) {
  FabricOptions out;
  out.nodes = split(value_of(words, "--nodes"), ",");
  out.resource = value_of(words, "--resource");
  out.units = TRY(number_of(words, "--units", out.units, 64));
  out.network = value_of(words, "--network");
  out.host_network = words.has("--host-network");
  out.name_space = value_of(words, "--namespace", access.name_space);
  out.image = value_of(words, "--image");
  out.seconds = TRY(number_of(words, "--seconds", out.seconds, 60));
  out.start_time = std::chrono::seconds(
      TRY(number_of(words, "--wait", static_cast<uint32_t>(out.start_time.count()), 3600)));
  if (out.host_network && !out.network.empty())
    return Error{Errc::invalid, 0, "--host-network and --network: a pod in the host's network has no other"};
  return out;
}

Result<int> run_fabric_test(const CommandWords& words) {
  const std::string output = value_of(words, "--output", "table");
  if (output != "table" && output != "json")
    return Error{Errc::invalid, 0, "--output: \"" + output + "\" is not one of table|json"};
  const ClusterAccess access = TRY(find_access(words));
  const FabricOptions options = TRY(read_fabric_options(words, access));
  UntilSignal until_signal;
  const auto say = [](const std::string& line) { std::fprintf(stderr, "%s\n", escaped(line).c_str()); };
  const FabricReport report = TRY(test_fabric(access, options, say, until_signal.token()));
  const std::string text = output == "json" ? escaped_json(to_json(report).pretty()) + "\n" : render(report);
  bool faults = false;
  for (const FabricFinding& finding : report.findings) faults = faults || finding.is_fault;
  return print_text(text) != 0 || faults ? 1 : 0;
}

// --- the commands

std::vector<OptionText> access_options() {
  return {help_option(),
          {{"--kubeconfig"},
           "FILE",
           "As kubectl's; default: $KUBECONFIG, ~/.kube/config, or the pod's service account"},
          {{"--context"}, "NAME", "Of the kubeconfig; default: the current one"}};
}

std::vector<OptionText> with(std::vector<OptionText> first, std::vector<OptionText> more) {
  for (OptionText& option : more) first.push_back(std::move(option));
  return first;
}

std::vector<OptionText> view_options() {
  return with(access_options(), {{{"-o", "--output"}, kOutputs, "Output format"},
                                 {{"--node"}, "NAME", "Of this node alone"},
                                 {{"--resource"}, "NAME", "Of this resource alone: nvidia.com/hostdev"},
                                 {{"-n", "--namespace"}, "NAME", "Pods and networks of this namespace alone"},
                                 {{"--no-headers"}, "", "Without the line of headings"}});
}

std::vector<OptionText> check_options() {
  return with(
      access_options(),
      {{{"-o", "--output"}, kOutputs, "Output format"},
       {{"-n", "--namespace"}, "NAME", "Of the pods (that of the kubeconfig)"},
       {{"--job"}, "NAME", "Pods of this Job, PyTorchJob, MPIJob, JobSet, LeaderWorkerSet or RayCluster"},
       {{"-l", "--selector"}, "LABELS", "Pods with these labels"}});
}

std::vector<OptionText> log_options() {
  return {{{"--log-level"}, "error|warning|info|debug", "What is logged (info)"},
          {{"--log-format"}, "text|json", "How it is logged (text)"}};
}

std::vector<OptionText> controller_options() {
  return with(
      with(access_options(),
           {{{"--cni-type"}, "TYPE", "CNI plugin of the networks of HostDeviceNetworks (vfrail)"},
            {{"-n", "--namespace"}, "NAME", "Where the Lease is on which replicas agree (that of the pod)"}}),
      log_options());
}

std::vector<OptionText> node_options() {
  return with(
      with(access_options(),
           {{{"--socket"}, "PATH", "Where it listens for vfrail serve, whose --dra-socket it is"},
            {{"--node"}, "NAME", "The Node on which it runs ($NODE_NAME)"},
            {{"--events"},
             "",
             "Post what an administrator must see of the node as its Events, for vfrail serve, whose "
             "--events-socket it is"},
            {{"--driver"}, "NAME", "Name of the DRA driver, as --dra-driver of vfrail serve (vfrail.io)"}}),
      log_options());
}

std::vector<OptionText> fabric_options() {
  return with(
      access_options(),
      {{{"--nodes"}, "A,B,...", "Between these nodes; default: all that offer the resource"},
       {{"--resource"}, "NAME", "What the pods request; default: that of the only network"},
       {{"--units"}, "N", "Of the resource for each pod, each of them a rail (1)"},
       {{"--network"}, "NAMESPACE/NAME", "Default: the only one that is annotated with the resource"},
       {{"--host-network"}, "", "For RoCE devices that pods share, which have no network of their own"},
       {{"-n", "--namespace"}, "NAME", "Of the test's pods (that of the kubeconfig)"},
       {{"--image"}, "IMAGE", "With vfrail-check; default: that of vfrail in this cluster"},
       {{"--seconds"}, "N", "How long each rail writes, each way, 1 to 60 (2)"},
       {{"--wait"}, "SECONDS", "How long the pods may take to run (180)"},
       {{"-o", "--output"}, "table|json", "Output format"}});
}

struct Command {
  CommandText text;
  std::function<Result<int>(const CommandWords&)> run;
};

std::vector<Command> commands() {
  const auto view = [](const char* name, const char* about, Show show, std::vector<OptionText> more = {}) {
    return Command{{name, about, with(view_options(), std::move(more))},
                   [show](const CommandWords& words) { return run_view(show, words); }};
  };
  return {
      view("nodes", "Nodes and their resources: capacity, free, unhealthy and why", show_nodes),
      view("devices", "The devices of all nodes, with pod, address, state and traffic", show_devices,
           {{{"--traffic"},
             "",
             "Also show receive and transmit rates, from two samples two seconds apart; included in -o "
             "wide"}}),
      view("pods", "Pods with devices, and those that wait for one, and why", show_pods),
      view("networks", "Networks with their attachments and the addresses that are left", show_networks),
      view("doctor", "What is wrong on which nodes, by finding", show_findings),
      {{"check", "Run vfrail-check in pods that have devices, and say what is wrong in which",
        check_options()},
       run_pod_checks},
      {{"test", "Test RDMA between nodes: all pairs, each rail, and which card, cable or node is slow",
        fabric_options()},
       run_fabric_test},
      {{"controller",
        "Make the networks of HostDeviceNetworks, MacvlanNetworks and IPoIBNetworks, until it is stopped",
        controller_options()},
       run_controller},
      {{"node",
        "Publish the devices of a node for DRA, read claims and post Events, for vfrail serve, until it is "
        "stopped",
        node_options()},
       run_node}};
}

}  // namespace

CommandText kube_command_line(const std::string& name) {
  const bool plugin = name == kPlugin;
  CommandText out{plugin ? "kubectl vfrail" : "vfrail-kube",
                  "SR-IOV and RDMA devices of the whole cluster, with the rights of who asks"};
  out.options = {help_option(), {{"--version"}, "", "Print the version and exit"}};
  for (Command& command : commands()) {
    // Their place is a pod.
    const bool is_of_pod = command.text.name == "controller" || command.text.name == "node";
    if (!plugin || !is_of_pod) out.commands.push_back(std::move(command.text));
  }
  for (CommandText& command : standard_commands()) out.commands.push_back(std::move(command));
  out.sections = {
      {"Rights",
       "nodes, pods, networks and addresses are read with list; what the nodes themselves know, with get of "
       "pods/proxy in vfrail's namespace; check runs a program in pods (get and create of pods/exec); test "
       "makes and deletes pods and runs a program in them (pods, "
       "pods/exec). "
       "What may not be read is named, and the rest is shown."},
      {"Exit status", "0 done, 1 failed, or a fault was found by doctor, check or test, 2 wrong usage."}};
  return out;
}

int run_kube_command_line(const std::string& name, const std::vector<std::string>& arguments) {
  if (name == kCompletion) return print_text(cobra_text(candidates(kube_command_line(kPlugin), arguments)));
  const CommandText program = kube_command_line(name);
  if (arguments.empty() || arguments[0] == "--help" || arguments[0] == "-h")
    return arguments.empty() ? wrong_usage(program, "a command is missing", help_text(program, ""))
                             : print_text(help_text(program, ""));
  if (arguments[0] == "--version") return print_text(program.name + " " VFRAIL_VERSION "\n");
  const CommandText* text = find_command(program, arguments[0]);
  if (text == nullptr) return unknown_command(program, arguments[0]);
  const auto words = read_words(*text, {arguments.begin() + 1, arguments.end()});
  if (!words)
    return wrong_usage(program, text->name + ": " + words.error().text, help_text(*text, program.name));
  if (words->has("--help")) return print_text(help_text(*text, program.name));
  if (const auto done = run_standard_command(program, *text, *words, {8})) return *done;
  for (const Command& command : commands()) {
    if (command.text.name != text->name) continue;
    const auto result = command.run(*words);
    return result.ok() ? *result : fail(program, result.error());
  }
  return 1;
}

}  // namespace vfrail::kube

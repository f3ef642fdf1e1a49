#include "cni/in_pod/pod_command_line.h"

#include "cni/in_pod/pod_report.h"
#include "cni/in_pod/pod_top.h"
#include "cni/in_pod/traffic_command.h"
#include "common/command/standard_commands.h"
#include "common/errors/check_row.h"
#include "common/errors/error_id.h"
#include "common/errors/symptom_search.h"
#include "common/escape.h"
#include "common/explain.h"
#include "common/json.h"
#include "common/netlink/netlink_kernel.h"
#include "common/node/sys_root.h"
#include "common/terminal.h"

#include <chrono>
#include <csignal>
#include <cstdio>

namespace vfrail::pod {

namespace {

struct PodCheckOptions {
  std::string root = "/";
  bool json = false;
  bool all = false;  // also what is ok or not applicable
  Finding fail_on = Finding::fault;
  std::string nccl_log = {};
  std::optional<TrafficCommand> traffic = {};
  std::optional<WatchOptions> top = {};

  // What was asked for is shown, also if it is ok: the rates of a test, the answer about a log.
  CheckLayout layout() const {
    return {.all = all || traffic,
            .asked = nccl_log.empty() ? "" : kNcclLogCheck,
            .width = find_terminal().width};
  }
};

Result<PodCheckOptions> read_options(const CommandWords& words) {
  PodCheckOptions out;
  for (const auto& [name, value] : words.options) {
    if (name == "--root") out.root = normal_root(value);
    if (name == "--all") out.all = true;
    if (name == "--nccl-log") out.nccl_log = value;
    if (name == "--output") {
      if (value != "text" && value != "json")
        return Error{Errc::invalid, 0, "--output: \"" + value + "\" is not one of text|json"};
      out.json = value == "json";
    }
    if (name == "--fail-on") {
      const auto finding = parse_fail_on(value);
      if (!finding) return Error{Errc::invalid, 0, "--fail-on: \"" + value + "\" is not one of " + kFailOn};
      out.fail_on = *finding;
    }
  }
  out.traffic = TRY(read_traffic_command(words));
  out.top = TRY(read_pod_top(words));
  if (out.top && out.traffic)
    return Error{Errc::invalid, 0, "--top shows what others send: start it beside the test"};
  if (!out.nccl_log.empty() && (out.top || out.traffic))
    return Error{Errc::invalid, 0,
                 "--nccl-log belongs to the checks, which --top and tests of traffic leave out"};
  if (out.top) out.top->json = out.json;
  return out;
}

CheckedPod read_this_pod(const PodCheckOptions& options, const PodWorld& world) {
  const bool live = options.root == "/";
  // Without it the checks that need interfaces say what could not be read.
  auto kernel =
      live ? NetlinkKernel::open_current() : Result<std::unique_ptr<Kernel>>(std::unique_ptr<Kernel>());
  CheckedPod pod = read_pod(SysRoot(options.root), live ? world.environment : PodEnvironment(),
                            kernel ? kernel->get() : nullptr);
  if (!kernel) pod.network = std::move(kernel).error();
  return pod;
}

int run_checks(const PodCheckOptions& options, const PodWorld& world) {
  CheckedPod pod = read_this_pod(options, world);
  if (options.root == "/") pod.probes = world.probe(pod);
  if (!options.nccl_log.empty()) pod.nccl_log = read_nccl_log(options.nccl_log);
  const auto reports = check_pod(pod);
  const std::string text = options.json ? escaped_json(pod_json(pod, reports).pretty()) + "\n"
                                        : render_pod(pod, reports, options.layout());
  return print_text(text) != 0 || reaches(reports, options.fail_on) ? 1 : 0;
}

// INT and TERM end a test, and what it has opened is released.
TrafficClock clock_until_signal() {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM}) ::sigaddset(&signals, signal);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  const auto is_signalled = [signals, came = false]() mutable {
    const timespec now{};
    came = came || ::sigtimedwait(&signals, nullptr, &now) > 0;
    return came;
  };
  const auto seconds = [] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  };
  return {seconds, is_signalled};
}

int fail(const Error& error) {
  std::fprintf(stderr, "vfrail-check: %s\n", escaped(error.text).c_str());
  return 1;
}

int run_traffic(const PodCheckOptions& options, const PodWorld& world) {
  const TrafficCommand& command = *options.traffic;
  const TrafficClock clock = clock_until_signal();
  const auto say = [](const std::string& line) { std::fprintf(stderr, "%s\n", escaped(line).c_str()); };
  CheckedPod pod = read_this_pod(options, world);
  if (command.role == TrafficRole::listen) {
    const auto listened = listen_for_traffic(command, pod, {world.devices, clock, say});
    return listened ? 0 : fail(listened.error());
  }
  auto outcome = test_traffic(command, pod, {world.devices, clock, say});
  if (!outcome) return fail(outcome.error());
  if (clock.is_stopped()) return fail({Errc::peer, 0, "interrupted"});
  pod.traffic = *std::move(outcome);
  const auto reports = check_traffic_of(pod);
  const Json json = Json::object()
                        .set("schema_version", kPodReportVersion)
                        .set("traffic", traffic_json(*pod.traffic))
                        .set("checks", checks_json(reports));
  const std::string text =
      options.json ? escaped_json(json.pretty()) + "\n" : render_checks(reports, options.layout());
  return print_text(text) != 0 || reaches(reports, options.fail_on) ? 1 : 0;
}

int run_top(const PodCheckOptions& options, const PodWorld& world) {
  const CheckedPod pod = read_this_pod(options, world);
  if (!pod.rails) return fail(pod.rails.error());
  const auto rails = pod.own_rails();
  if (rails.empty())
    return fail({Errc::not_found, 0, "there is no RDMA device in this pod: vfrail-check says why (VF-P02)"});
  bool printed = true;
  const auto watched = watch_traffic(
      *options.top, {.read = [&] { return Result<Reading>(read_rail_traffic(pod.sys, rails)); },
                     .wait = wait_until_signal(),
                     .print = [&](const std::string& text) { printed = print_text(text) == 0; }});
  if (!watched) return fail(watched.error());
  return printed ? 0 : 1;
}

// "VF-P07", also without VF- and in lower case.
const PodCheck* find_check(const PodChecks& checks, const std::string& text) {
  const std::string word = upper_id(text);
  for (const PodCheck& check : checks) {
    if (word == check.id || "VF-" + word == check.id) return &check;
  }
  return nullptr;
}

std::vector<std::string> check_ids() {
  std::vector<std::string> out;
  for (const PodCheck& check : pod_checks()) out.emplace_back(check.id);
  return out;
}

std::string title_of(const PodCheck& check) {
  return std::string(check.id) + " " + check.name + " is ok when " + check.holds;
}

// With symptom, cause and remedy.
std::string explained(const PodCheck& check) {
  const CheckRow* row = find_check_row(pod_check_rows(), check.id);
  return row == nullptr ? title_of(check) + "\n" : explanation(title_of(check), *row);
}

// What is known of messages that the text has; empty: nothing.
std::string explained(const std::string& text) {
  std::string out;
  for (const SeenSymptom& seen : seen_symptoms(text))
    out += (out.empty() ? "" : "\n") + explanation(*seen.symptom, escaped(seen.text));
  return out;
}

int run_explain(const CommandText& program, const CommandWords& words) {
  const PodChecks checks = pod_checks();
  if (words.arguments.empty()) {
    std::string all;
    for (const PodCheck& check : checks) all += title_of(check) + "\n";
    return print_text(all);
  }
  const std::string& text = words.arguments[0];
  if (const PodCheck* check = find_check(checks, text)) return print_text(explained(*check));
  if (const std::string known = explained(text); !known.empty()) return print_text(known);
  std::fprintf(stderr,
               "%s: explain: \"%s\" is not the id of a check, and no message that is known; explain without "
               "an id lists all\n",
               program.name.c_str(), escaped(text.substr(0, 60)).c_str());
  return 1;
}

int run_command(const CommandText& program, const std::vector<std::string>& arguments) {
  const CommandText* command = find_command(program, arguments[0]);
  if (command == nullptr) return unknown_command(program, arguments[0]);
  const auto words = read_words(*command, {arguments.begin() + 1, arguments.end()});
  if (!words)
    return wrong_usage(program, command->name + ": " + words.error().text, help_text(*command, program.name));
  if (const auto done = run_standard_command(program, *command, *words, {1})) return *done;
  return run_explain(program, *words);
}

}  // namespace

CommandText pod_command_line_text() {
  const OptionText help = help_option();
  CommandText out{"vfrail-check", "Check this pod, and say whether its RDMA will work and why not"};
  out.options = {
      help,
      {{"--version"}, "", "Print the version and exit"},
      {{"-o", "--output"}, "text|json", "Output format"},
      {{"--fail-on"}, kFailOn, "Exit with 1 if a finding is at least this severe (fault)"},
      {{"--all"}, "", "Also print what is ok, or not applicable"},
      {{"--nccl-log"}, "FILE", "Also check what NCCL has printed there with NCCL_DEBUG=INFO (VF-P23)"},
      {{"--root"}, "DIR", "Read sys, proc, dev, etc and run below this folder, and try nothing (/)"}};
  for (OptionText& option : pod_top_options()) out.options.push_back(std::move(option));
  for (OptionText& option : traffic_options()) out.options.push_back(std::move(option));
  out.commands = {
      {"explain",
       "Say what a check such as VF-P07, or a message of NCCL or perftest, is about; without TEXT list the "
       "checks",
       {help},
       {{{}, "TEXT", "An id, also without VF-, in lower case; or a message", false, check_ids()}}}};
  for (CommandText& command : standard_commands()) out.commands.push_back(std::move(command));
  out.works_alone = true;
  out.sections = {
      {"Without a command",
       "It checks the pod that it runs in; with --listen, --to or --loopback it tests the traffic "
       "of its rails instead."},
      {"Exit status", "0 done, 1 failed or a finding of --fail-on or worse, 2 wrong usage."}};
  return out;
}

int run_pod_command_line(const std::vector<std::string>& arguments, const PodWorld& world) {
  const CommandText program = pod_command_line_text();
  if (!arguments.empty() && !arguments[0].starts_with("-")) return run_command(program, arguments);
  const auto words = read_words(program, arguments);
  if (!words) return wrong_usage(program, words.error().text, help_text(program, ""));
  if (words->has("--help")) return print_text(help_text(program, ""));
  if (words->has("--version")) return print_text(program.name + " " VFRAIL_VERSION "\n");
  const auto options = read_options(*words);
  if (!options) return wrong_usage(program, options.error().text, help_text(program, ""));
  if (options->top) return run_top(*options, world);
  return options->traffic ? run_traffic(*options, world) : run_checks(*options, world);
}

}  // namespace vfrail::pod

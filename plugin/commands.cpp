#include "plugin/commands.h"

#include "common/command/completion.h"
#include "common/escape.h"
#include "common/json.h"
#include "common/node/sys_root.h"
#include "plugin/command_line.h"
#include "plugin/report/scan_root.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>

#include <CLI/CLI.hpp>

namespace vfrail::plugin {

namespace {

constexpr const char* kAbout =
    "SR-IOV virtual functions with their RDMA devices for Kubernetes pods: the node's device plugin";
constexpr const char* kRootAbout = "Read sys, proc and dev below this folder";
constexpr const char* kPrefixAbout = "For resources without a resourcePrefix";
constexpr const char* kKubeletAbout = "Kubelet's folder, as on the host";
constexpr const char* kCniBinAbout = "Where vfrail-cni is, as on the host";

bool is_there(const std::string& file) {
  std::error_code unknown;
  return std::filesystem::exists(file, unknown);
}

CLI::Option* add_text(CLI::App* app, const std::string& names, std::string& to, const char* value,
                      const std::string& about) {
  return app->add_option(names, to, about)->type_name(value);
}

// Accepted, because the peers' DaemonSets have them; not in the help.
void add_peers_flags(CLI::App& serve, ServeOptions& options) {
  const auto ignored = [&options](const char* flag) {
    return [flag, &options](const auto&) { options.ignored.emplace_back(flag); };
  };
  serve.add_option("-v,--v", options.verbosity)->group("");
  for (const char* flag : {"--log-dir,--log_dir", "--stderrthreshold", "--vmodule", "--log_backtrace_at",
                           "--log_link", "--logbuflevel"})
    serve.add_option_function<std::string>(flag, ignored(flag))->group("");
  for (const char* flag : {"--logtostderr", "--alsologtostderr"})
    serve.add_flag_function(flag, ignored(flag))->group("");
}

// "90", "90s", "2m", "1h" in seconds; anything else unchanged, for CLI11 to refuse.
std::string seconds_of(std::string text) {
  static const std::map<char, int64_t> kUnits = {{'s', 1}, {'m', 60}, {'h', 3600}};
  const auto unit = text.empty() ? kUnits.end() : kUnits.find(text.back());
  if (unit == kUnits.end()) return text;
  const std::string number = text.substr(0, text.size() - 1);
  const bool digits =
      !number.empty() && number.size() < 7 && number.find_first_not_of("0123456789") == std::string::npos;
  return digits ? std::to_string(std::stoll(number) * unit->second) : text;
}

void add_serve_folders(CLI::App* serve, ServeOptions& options) {
  add_text(serve, "--kubelet-root", options.kubelet_root, "DIR", kKubeletAbout);
  add_text(serve, "--device-info-dir", options.device_info_dir, "DIR",
           "Where Multus reads device information");
  add_text(serve, "--run-dir", options.run_dir, "DIR", "Shared with vfrail-cni on this node");
  add_text(serve, "--cni-state-dir", options.cni_state_dir, "DIR",
           "Where vfrail-cni has its records; one that outlives its pod is reported");
  add_text(serve, "--cni-bin-dir", options.cni_bin_dir, "DIR", kCniBinAbout);
  add_text(serve, "--root", options.root, "DIR", kRootAbout)->transform(normal_root);
  add_text(serve, "--cdi-dir", options.cdi_dir, "DIR", "Where the runtime reads CDI specs");
}

void add_serve(CLI::App& app, ServeOptions& options) {
  CLI::App* serve =
      app.add_subcommand("serve", "Advertise this node's functions to kubelet until TERM or INT");
  add_text(serve, "--config-file", options.config_file, "FILE", "Which devices to advertise, as what");
  add_text(serve, "--resource-prefix", options.resource_prefix, "PREFIX", kPrefixAbout);
  serve->add_flag("--strict-config", options.strict_config,
                  "Unknown keys are errors, and one faulty entry makes the whole file invalid");
  serve
      ->add_option("--registration", options.registration,
                   "How to register; auto: watcher if KUBELET_ROOT/plugins_registry exists")
      ->option_text("auto|watcher|legacy");
  add_serve_folders(serve, options);
  add_text(serve, "--sweep", options.sweep_program, "FILE",
           "Path of the installed vfrail-cni; runs its sweep when pods have ended without a DEL");
  serve
      ->add_option("--rescan-interval", options.rescan_interval,
                   "Seconds between rescans, also as 90s or 2m (HUP: now); by default 60, or 600 where the "
                   "kernel's events report what changes")
      ->transform(seconds_of)
      ->option_text("SECONDS");
  serve->add_flag("--verbs-events", options.verbs_events,
                  "Open the ports' RDMA devices, to be notified of InfiniBand ports that go down or up");
  add_text(serve, "--metrics-address", options.metrics_address, "ADDRESS",
           "Serve /metrics, /healthz and /readyz there: localhost:PORT, ADDRESS:PORT, unix:/PATH");
  add_text(serve, "--probe-address", options.probe_address, "ADDRESS",
           "Serve /healthz and /readyz there, without /metrics");
  add_text(serve, "--log-level", options.log_level, "LEVEL",
           "error, warning, info or debug; or a glog verbosity (4 and above: debug)");
  serve->add_option("--log-format", options.log_format, "Log format")->option_text("text|json");
  serve->add_flag("--use-cdi", options.use_cdi,
                  "Pass device nodes to the container runtime by CDI, not by kubelet");
  add_peers_flags(*serve, options);
}

void add_check_config(CLI::App& app, CheckConfigOptions& options) {
  CLI::App* check = app.add_subcommand("check-config", "Check a configuration, and say what it means");
  check
      ->add_option(
          "FILE", options.files,
          "Configurations and networks, as they are or as objects of Kubernetes in YAML or JSON; - is "
          "stdin; by default the configuration of serve")
      ->take_all()
      ->option_text(" ");
  add_text(check, "--resource-prefix", options.resource_prefix, "PREFIX", kPrefixAbout);
  check->add_flag("--strict-config", options.strict, "Unknown keys are errors, and warnings exit with 1");
}

void add_render(CLI::App& app, RenderOptions& options) {
  CLI::App* render = app.add_subcommand(
      "render", "Print the NetworkAttachmentDefinition that network-operator makes of a HostDeviceNetwork");
  render->add_option("FILE", options.file, "HostDeviceNetworks in YAML or JSON; - is stdin")
      ->required()
      ->option_text(" ");
  render->add_option("--type", options.type, "host-device, as network-operator does it, or vfrail")
      ->check(CLI::IsMember({"host-device", "vfrail"}))
      ->option_text("host-device|vfrail");
}

void add_filters(CLI::App* inspect, InspectOptions& options) {
  inspect
      ->add_option("DEVICE", options.filter.devices,
                   "Only these: PCI addresses (0000:03:02.1 or 03:02.1), sub-functions, interfaces, RDMA "
                   "devices, bonds")
      ->take_all()
      ->option_text(" ");
  inspect
      ->add_option("--resource", options.filter.resources, "Only devices of this resource (may be repeated)")
      ->allow_extra_args(false)
      ->take_all()
      ->option_text("RESOURCE");
  inspect
      ->add_option("--pf", options.filter.pfs,
                   "Only this PF and its VFs, by address or interface (may be repeated)")
      ->allow_extra_args(false)
      ->take_all()
      ->option_text("PF");
  inspect->add_flag("--unhealthy", options.filter.unhealthy, "Only unhealthy devices");
}

void add_inspect(CLI::App& app, InspectOptions& options) {
  using Output = InspectOptions::Output;
  CLI::App* inspect = app.add_subcommand(
      "inspect", "Show the functions with their state, resource and pod, or why they have none");
  add_filters(inspect, options);
  const std::map<std::string, Output> words{{"table", Output::table}, {"wide", Output::wide},
                                            {"name", Output::name},   {"json", Output::json},
                                            {"yaml", Output::yaml},   {"text", Output::table}};
  inspect
      ->add_option("-o,--output", options.output,
                   "A table as wide as the terminal, one with all columns, the ids alone, or everything as "
                   "JSON or YAML")
      ->transform(CLI::CheckedTransformer(words))
      ->option_text("table|wide|name|json|yaml");
  inspect->add_flag("--no-headers", options.no_headers, "The rows of the table alone");
  inspect
      ->add_option_function<std::string>(
          "--explain",
          [&options](const std::string& device) {
            options.explain = true;
            if (!device.empty()) options.filter.devices.push_back(device);
          },
          "Show for each resource which selectors match a device and which do not")
      ->expected(0, 1)
      ->option_text("[DEVICE]");
  inspect->add_flag("--distances", options.distances,
                    "Show how far the devices are from the GPUs and from each other");
  add_text(inspect, "--config-file", options.config_file, "FILE",
           "The configuration; by default that of serve, '' for none");
  add_text(inspect, "--resource-prefix", options.resource_prefix, "PREFIX", kPrefixAbout);
  inspect->add_flag("--strict-config", options.strict, "Unknown keys in the configuration are errors");
  add_text(inspect, "--kubelet-root", options.kubelet_root, "DIR",
           "Kubelet's folder, whose pod-resources socket names the pods");
  add_text(inspect, "--root", options.root, "DIR", kRootAbout)->transform(normal_root);
}

void add_doctor(CLI::App& app, DoctorOptions& options) {
  CLI::App* doctor = app.add_subcommand("doctor", "Check this node, and say what to do");
  doctor
      ->add_option_function<std::string>(
          "-o,--output", [&options](const std::string& word) { options.json = word == "json"; },
          "Output format")
      ->check(CLI::IsMember({"text", "json"}))
      ->option_text("text|json");
  doctor
      ->add_option_function<std::string>(
          "--fail-on",
          [&options](const std::string& word) {
            options.fail_on = parse_fail_on(word).value_or(Finding::fault);
          },
          "Exit with 1 if a finding is at least this severe")
      ->check(CLI::IsMember({"fault", "advice", "note"}))
      ->option_text(kFailOn);
  add_text(doctor, "--config-file", options.config_file, "FILE",
           "The configuration; by default that of serve, '' for none");
  add_text(doctor, "--resource-prefix", options.resource_prefix, "PREFIX", kPrefixAbout);
  add_text(doctor, "--kubelet-root", options.kubelet_root, "DIR", kKubeletAbout);
  add_text(doctor, "--cni-bin-dir", options.cni_bin_dir, "DIR", kCniBinAbout);
  add_text(doctor, "--root", options.root, "DIR", kRootAbout)->transform(normal_root);
}

void add_top(CLI::App& app, TopOptions& options) {
  CLI::App* top = app.add_subcommand("top", "Show the traffic of devices and pods, until INT, and sum it up");
  top->add_option("DEVICE", options.devices,
                  "Only these: PCI address, sub-function, interface, bond or RDMA device")
      ->take_all()
      ->option_text(" ");
  add_text(top, "--pod", options.pod, "NAMESPACE/NAME", "Only what this pod has");
  top->add_option("-i,--interval", options.interval, "Seconds between two readings, from 0.1 on")
      ->check(CLI::Range(0.1, 3600.0))
      ->option_text("SECONDS");
  top->add_option("-n,--count", options.count, "Stop after this many intervals")->option_text("NUMBER");
  top->add_flag_callback(
      "--once", [&options] { options.count = 1; }, "End after one interval");
  top->add_option_function<std::string>(
         "-o,--output", [&options](const std::string& word) { options.json = word == "json"; },
         "Output format; json: a document on a line for each interval")
      ->check(CLI::IsMember({"text", "json"}))
      ->option_text("text|json");
  add_text(top, "--config-file", options.config_file, "FILE",
           "The configuration, for names of pods from kubelet; by default that of serve, '' for none");
  add_text(top, "--resource-prefix", options.resource_prefix, "PREFIX", kPrefixAbout);
  add_text(top, "--kubelet-root", options.kubelet_root, "DIR",
           "Kubelet's folder, whose pod-resources socket names the pods");
  add_text(top, "--root", options.root, "DIR", kRootAbout)->transform(normal_root);
}

void add_explain(CLI::App& app, ExplainIdOptions& options) {
  CLI::App* explain = app.add_subcommand(
      "explain", "Say what an id such as VF-DEVICE-IN-USE means and what to do; without ID list them all");
  explain
      ->add_option(
          "ID", options.id,
          "As in the message, the log or inspect; also without VF-, in lower case, or a metric's reason")
      ->option_text(" ");
  explain
      ->add_option_function<std::string>(
          "-o,--output", [&options](const std::string& word) { options.json = word == "json"; },
          "Output format")
      ->check(CLI::IsMember({"text", "json"}))
      ->option_text("text|json");
}

void add_capture(CLI::App& app, CaptureOptions& options) {
  CLI::App* capture = app.add_subcommand(
      "capture", "Copy what vfrail reads of this node into a new folder, for an issue; --root takes it");
  add_text(capture, "DIR", options.folder, "DIR", "The folder")->required()->option_text(" ");
  add_text(capture, "--root", options.root, "DIR", kRootAbout)->transform(normal_root);
}

// What follows the name: a word that describes it, or its choices.
std::string value_of(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return "";
  const std::string text = option.get_positional() ? "" : option.get_option_text();
  return text.empty() ? option.get_type_name() : text;
}

OptionText describe(const CLI::Option& option) {
  OptionText out;
  for (const std::string& name : option.get_snames()) out.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) out.names.push_back("--" + name);
  out.value = value_of(option);
  out.about = option.get_description();
  out.required = option.get_required();
  return out;
}

CommandText describe(const CLI::App& app) {
  CommandText out{app.get_name(), app.get_description()};
  const auto is_shown = [](const CLI::Option* option) { return !option->get_group().empty(); };
  for (const CLI::Option* option : app.get_options(is_shown)) {
    OptionText text = describe(*option);
    if (option->get_positional()) {
      // An argument's own name describes it, except for the choices of `completion`.
      if (choices(text).empty()) text.value = option->get_name(true);
      text.names.clear();
      out.arguments.push_back(std::move(text));
    } else {
      out.options.push_back(std::move(text));
    }
  }
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    out.commands.push_back(describe(*command));
  return out;
}

std::string suggestion(const std::string& word, const std::vector<std::string>& known) {
  const std::string meant = nearest_name(word.substr(0, 60), known);
  return meant.empty() ? "" : "; \"" + meant + "\" is probably meant";
}

}  // namespace

CommandLine::CommandLine() : app_(std::make_unique<CLI::App>(kAbout, "vfrail")) {
  serve.config_file = default_config_file(is_there);
  inspect.root = doctor.root = capture.root = top.root = advice.plan.root = advice.convert.root =
      default_root();
  app_->require_subcommand(1);
  app_->get_formatter()->column_width(32);
  app_->option_defaults()->always_capture_default()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app_->set_help_flag("-h,--help", "Print this help and exit");
  app_->set_version_flag("--version", std::string("vfrail ") + VFRAIL_VERSION, "Print the version and exit");
  add_serve(*app_, serve);
  add_inspect(*app_, inspect);
  add_check_config(*app_, check_config);
  add_render(*app_, render);
  add_doctor(*app_, doctor);
  add_explain(*app_, explain);
  add_capture(*app_, capture);
  add_top(*app_, top);
  add_plan_commands(*app_, advice);
  CLI::App* completion = app_->add_subcommand("completion", completion_command().about);
  completion->add_option("SHELL", shell, "The shell: bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}))
      ->option_text(" ");
  app_->add_subcommand("man", "Print this program's manual page, for `man -l -`");
  app_->add_subcommand("version", "Print the version");
}

CommandLine::~CommandLine() = default;

CommandText CommandLine::text() const {
  CommandText out = describe(*app_);
  for (CommandText& command : out.commands) {
    if (command.name == "completion") command.arguments = completion_command().arguments;
    if (command.name == "explain") command.arguments.front().words = explained_ids();
  }
  out.sections = {
      {"Exit status", "0 done, 1 failed, 2 wrong usage or configuration."},
      {"Environment",
       "COLUMNS is the width of tables where stdout is not a terminal (80). NO_COLOR switches colours off."},
      {"Files",
       "/etc/pcidp/config.json, else /k8s-rdma-shared-dev-plugin/config.json, else "
       "/k8s-rdma-sriov-dev-plugin/config.json: the configuration."}};
  return out;
}

std::string CommandLine::command() const {
  const auto parsed = app_->get_subcommands();
  return parsed.empty() ? "" : parsed.front()->get_name();
}

int CommandLine::refuse(const std::string& problem) const {
  std::fprintf(stderr, "vfrail: %s\nRun with --help for more information.\n", escaped(problem).c_str());
  return 2;
}

// That of this node's serve, if none is named; a captured tree has none.
void CommandLine::find_own_config(const std::string& command, const std::string& root,
                                  std::string& file) const {
  if (!app_->get_subcommand(command)->get_option("--config-file")->empty() || !is_live(root)) return;
  const std::string own = default_config_file(is_there);
  if (is_there(own)) file = own;
}

std::optional<int> CommandLine::parse(std::vector<std::string> words,
                                      const std::vector<std::string>& daemon) {
  const CommandText all = text();
  const CommandText* named = words.empty() ? nullptr : find_command(all, words[0]);
  if (named != nullptr) words = with_options_of(daemon, std::move(words), option_names(*named));
  if (!words.empty() && !words[0].starts_with("-") && named == nullptr) {
    std::vector<std::string> known;
    for (const CommandText& command : all.commands) known.push_back(command.name);
    return refuse("\"" + words[0] + "\" is not a command" + suggestion(words[0], known));
  }
  try {
    app_->parse(std::vector<std::string>(words.rbegin(), words.rend()));  // last first, as CLI11 expects them
  } catch (const CLI::ExtrasError& error) {
    const auto extra = app_->remaining(true);
    const bool option = !extra.empty() && extra[0].starts_with("-") && named != nullptr;
    if (!option) return app_->exit(error) == 0 ? 0 : 2;
    const std::string name = extra[0].substr(0, extra[0].find('='));
    return refuse(named->name + ": \"" + name + "\" is not an option" +
                  suggestion(name, option_names(*named)));
  } catch (const CLI::ParseError& error) {
    return app_->exit(error) == 0 ? 0 : 2;
  }
  find_own_config("inspect", inspect.root, inspect.config_file);
  find_own_config("doctor", doctor.root, doctor.config_file);
  find_own_config("top", top.root, top.config_file);
  find_own_config("plan", advice.plan.root, advice.plan.config_file);
  if (advice.example.config_file.empty()) advice.example.config_file = default_config_file(is_there);
  if (check_config.files.empty()) check_config.files = {default_config_file(is_there)};
  return std::nullopt;
}

}  // namespace vfrail::plugin

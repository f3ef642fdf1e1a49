// The rows of the commands of a node and of its files, with their options.
#include "common/node/sys_root.h"
#include "plugin/admin/commands.h"
#include "plugin/admin/doctor/doctor.h"
#include "plugin/admin/doctor/explain_id.h"
#include "plugin/admin/provision/provision.h"
#include "plugin/admin/report/check_config.h"
#include "plugin/admin/report/inspect.h"
#include "plugin/admin/report/render.h"
#include "plugin/admin/report/scan_root.h"
#include "plugin/admin/top/top.h"
#include "plugin/dra/slice_devices.h"
#include "plugin/service/serve.h"

#include <map>

#include <CLI/CLI.hpp>

namespace vfrail::plugin {

namespace {

constexpr const char* kRootAbout = "Read sys, proc and dev below this folder";
constexpr const char* kPrefixAbout = "For resources without a resourcePrefix";
constexpr const char* kKubeletAbout = "Kubelet's folder, as on the host";
constexpr const char* kCniBinAbout = "Where vfrail-cni is, as on the host";

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
  add_text(serve, "--cdi-dir", options.cdi_dir, "DIR",
           "Where the runtime reads CDI specs; by default what its configuration says, else /var/run/cdi");
  add_text(serve, "--nfd-features", options.nfd_features, "DIR",
           "Write labels of the node there for Node Feature Discovery, as the file vfrail");
  add_text(
      serve, "--events-socket", options.events_socket, "FILE",
      "Socket of `vfrail-kube node --events`, which posts what an administrator must see as Events of the "
      "Node");
}

void add_serve_dra(CLI::App* serve, ServeOptions& options) {
  add_text(
      serve, "--dra-socket", options.dra_socket, "FILE",
      "Socket of `vfrail-kube node`: pods get devices by ResourceClaims (dynamic resource allocation, "
      "Kubernetes 1.34), and no longer by kubelet's device plugin; shared ones stay with that before 1.36");
  add_text(serve, "--dra-driver", options.dra_driver, "NAME", "Of the driver in ResourceSlices");
  add_text(serve, "--dra-instance", options.dra_instance, "UID",
           "Of the pod, where two of them run during an update");
  serve
      ->add_option("--dra-lanes", options.dra_lanes,
                   "Devices for claims of one that pods share: a container can ask for so many shares")
      ->check(CLI::Range(uint32_t{1}, kMaxLanes))
      ->option_text("NUMBER=1");
  serve->add_flag("--dra-drain", options.dra_drain,
                  "The way back: nothing is offered to claims any more, kubelet's device plugin has the "
                  "devices again, and claims that pods have are released as ever");
  serve->add_flag(
      "--dra-chained", options.dra_chained,
      "The list of the node's primary network has vfrail with \"claims\", in place of Multus: also a "
      "claim that a pod names directly is prepared");
  serve->add_flag("--dra-for-dranet", options.dra_for_dranet,
                  "Devices have the attributes of dra.net as well, for claims written for DRANET");
  serve->add_flag(
      "--dra-data-direct", options.dra_data_direct,
      "pcieRoot of a ConnectX-8 or later is that of its Data Direct function, where its GPUs are; "
      "written by sources, not tried on such hardware");
}

void define_serve(CLI::App* serve, ServeOptions& options) {
  options.config_file = own_config_file();
  add_text(serve, "--config-file", options.config_file, "FILE", "Which devices to advertise, as what");
  add_text(serve, "--resource-prefix", options.resource_prefix, "PREFIX", kPrefixAbout);
  serve->add_flag("--strict-config", options.strict_config,
                  "Unknown keys are errors, and one faulty entry makes the whole file invalid");
  serve
      ->add_option("--registration", options.registration,
                   "How to register; auto: watcher if KUBELET_ROOT/plugins_registry exists")
      ->option_text("auto|watcher|legacy");
  add_serve_folders(serve, options);
  add_serve_dra(serve, options);
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
           "Serve /metrics, /inspect, /doctor, /healthz and /readyz there: localhost:PORT, ADDRESS:PORT, "
           "unix:/PATH");
  serve
      ->add_option("--metrics-max-series", options.metrics_max_series,
                   "How many series about single devices /metrics has at most; devices in use come first, "
                   "vfrail_series_dropped counts the others")
      ->check(CLI::Range(size_t{0}, kMostDeviceSeries))
      ->option_text("NUMBER");
  add_text(serve, "--probe-address", options.probe_address, "ADDRESS",
           "Serve /healthz and /readyz there, without /metrics");
  add_text(serve, "--log-level", options.log_level, "LEVEL",
           "error, warning, info or debug; or a glog verbosity (4 and above: debug)");
  serve->add_option("--log-format", options.log_format, "Log format")->option_text("text|json");
  serve
      ->add_flag("--use-cdi", options.use_cdi,
                 "Pass device nodes to the container runtime by CDI, not by kubelet; auto: if the runtime's "
                 "configuration says that it takes them; without a word: true")
      ->option_text("[=auto|true|false]");
  add_peers_flags(*serve, options);
}

void define_check_config(CLI::App* check, CheckConfigOptions& options) {
  check
      ->add_option(
          "FILE", options.files,
          "Configurations and networks, as they are or as objects of Kubernetes in YAML or JSON; - is "
          "stdin; by default the configuration of serve")
      ->take_all()
      ->option_text(" ");
  add_text(check, "--resource-prefix", options.resource_prefix, "PREFIX", kPrefixAbout);
  check->add_flag("--strict-config", options.strict, "Unknown keys are errors, and warnings exit with 1");
  check->final_callback([&options] {
    if (options.files.empty()) options.files = {own_config_file()};
  });
}

void define_render(CLI::App* render, RenderOptions& options) {
  render
      ->add_option("FILE", options.file,
                   "HostDeviceNetworks, MacvlanNetworks and IPoIBNetworks in YAML or JSON; - is stdin")
      ->required()
      ->option_text(" ");
  render
      ->add_option("--type", options.type,
                   "Of HostDeviceNetworks: host-device, as network-operator does it, or vfrail")
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

void define_inspect(CLI::App* inspect, InspectOptions& options) {
  using Output = InspectOptions::Output;
  options.root = default_root();
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
  inspect->final_callback(
      [inspect, &options] { default_to_own_config(*inspect, options.root, options.config_file); });
}

void define_doctor(CLI::App* doctor, DoctorOptions& options) {
  options.root = default_root();
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
  doctor->add_flag("--all", options.all, "Also print what is ok, or not applicable");
  add_text(doctor, "--config-file", options.config_file, "FILE",
           "The configuration; by default that of serve, '' for none");
  add_text(doctor, "--resource-prefix", options.resource_prefix, "PREFIX", kPrefixAbout);
  add_text(doctor, "--kubelet-root", options.kubelet_root, "DIR", kKubeletAbout);
  add_text(doctor, "--cni-bin-dir", options.cni_bin_dir, "DIR", kCniBinAbout);
  add_text(doctor, "--root", options.root, "DIR", kRootAbout)->transform(normal_root);
  doctor->final_callback(
      [doctor, &options] { default_to_own_config(*doctor, options.root, options.config_file); });
}

void define_top(CLI::App* top, TopOptions& options) {
  options.root = default_root();
  top->add_option("DEVICE", options.devices,
                  "Only these: PCI address, sub-function, interface, bond or RDMA device")
      ->take_all()
      ->option_text(" ");
  add_text(top, "--pod", options.pod, "NAMESPACE/NAME", "Only what this pod has");
  top->add_option("-i,--interval", options.interval, "Seconds between two readings, from 0.1 on")
      ->check(CLI::Range(0.1, 3600.0))
      ->option_text("SECONDS");
  top->add_option("-n,--count", options.count,
                  "Stop after this many intervals, from 1 on; by default at INT or TERM")
      ->check(CLI::Range(1U, 1'000'000U))
      ->option_text("NUMBER");
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
  top->final_callback([top, &options] { default_to_own_config(*top, options.root, options.config_file); });
}

void define_explain(CLI::App* explain, ExplainIdOptions& options) {
  explain
      ->add_option(
          "TEXT", options.id,
          "An id, as in the message, the log or inspect, also without VF- and in lower case; a metric's "
          "reason; "
          "a message of NCCL, perftest, kubelet and others; or words. - is stdin, of which a log may be")
      ->option_text(" ");
  explain
      ->add_option_function<std::string>(
          "-o,--output", [&options](const std::string& word) { options.json = word == "json"; },
          "Output format")
      ->check(CLI::IsMember({"text", "json"}))
      ->option_text("text|json");
}

void define_provision(CLI::App* provision, ProvisionOptions& options) {
  options.root = default_root();
  options.config_file = own_config_file();
  add_text(provision, "--config-file", options.config_file, "FILE",
           "The configuration of serve, of which `vfs` counts; - is stdin");
  CLI::Option* dry =
      provision->add_flag("--dry-run", options.dry_run, "Print every write in its order, and make none");
  provision
      ->add_flag("--watch", options.watch,
                 "Until TERM or INT: also when a driver is loaded again, or the configuration changes; where "
                 "fewer VFs are wanted, when the last pod with one has ended")
      ->excludes(dry);
  provision
      ->add_option_function<std::string>(
          "-o,--output", [&options](const std::string& word) { options.json = word == "json"; },
          "Output format")
      ->check(CLI::IsMember({"text", "json"}))
      ->option_text("text|json");
  add_text(provision, "--resource-prefix", options.resource_prefix, "PREFIX", kPrefixAbout);
  add_text(provision, "--kubelet-root", options.kubelet_root, "DIR",
           "Kubelet's folder, whose pod-resources socket names the pods");
  add_text(provision, "--run-dir", options.run_dir, "DIR", "Where an unfinished run is recorded");
  add_text(provision, "--root", options.root, "DIR", "Read and write sys, proc and dev below this folder")
      ->transform(normal_root);
  provision->footer(kProvisionExits);
}

void define_capture(CLI::App* capture, CaptureOptions& options) {
  options.root = default_root();
  add_text(capture, "DIR", options.folder, "DIR", "The folder")->required()->option_text(" ");
  add_text(capture, "--root", options.root, "DIR", kRootAbout)->transform(normal_root);
}

}  // namespace

void add_node_commands(Commands& commands, const KubeletSide& kubelet) {
  const AskKubelet ask = kubelet.ask_kubelet;
  commands.add<ServeOptions>(
      {"serve", "Advertise this node's functions to kubelet until TERM or INT", define_serve, kubelet.serve});
  commands.add<InspectOptions>(
      {"inspect", "Show the functions with their state, resource and pod, or why they have none",
       define_inspect, [ask](const InspectOptions& options) { return inspect(options, ask); }});
  commands.add<CheckConfigOptions>(
      {"check-config", "Check a configuration, and say what it means", define_check_config, check_config});
  commands.add<RenderOptions>({"render",
                               "Print the NetworkAttachmentDefinition that network-operator makes of a "
                               "HostDeviceNetwork, MacvlanNetwork or IPoIBNetwork",
                               define_render, render});
  commands.add<DoctorOptions>({"doctor", "Check this node, and say what to do", define_doctor, doctor});
  commands.add<ExplainIdOptions>({"explain",
                                  "Say what an id such as VF-DEVICE-IN-USE or a message of NCCL means, and "
                                  "what to do; without TEXT list "
                                  "all ids",
                                  define_explain, explain, explained_ids()});
  commands.add<ProvisionOptions>(
      {"provision", "Make the VFs that `vfs` of the configuration wants; VFs in use are never removed",
       define_provision, [ask](const ProvisionOptions& options) { return provision(options, ask); }});
  commands.add<CaptureOptions>(
      {"capture", "Copy what vfrail reads of this node into a new folder, for an issue; --root takes it",
       define_capture, [](const CaptureOptions& options) { return capture(options); }});
  commands.add<TopOptions>({"top", "Show the traffic of devices and pods, until INT, and sum it up",
                            define_top, [ask](const TopOptions& options) { return top(options, ask); }});
}

}  // namespace vfrail::plugin

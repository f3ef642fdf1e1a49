// vfrail: the device plugin and the administrator's command line. Flags in, exit code out:
// 0 done, 1 failed, 2 wrong usage or configuration.
#include "plugin/command_line.h"
#include "plugin/report/check_config.h"
#include "plugin/report/doctor.h"
#include "plugin/report/inspect.h"
#include "plugin/report/render.h"
#include "plugin/report/scan_root.h"
#include "plugin/serve.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace {

using namespace vfrail;

constexpr const char* kAbout =
    "SR-IOV virtual functions with their RDMA devices for Kubernetes pods: the node's device plugin and what "
    "an\n"
    "administrator asks about it. Reads the configuration of sriov-network-device-plugin (resourceList).";

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

// "90", "90s", "2m", "1h" in seconds; anything else as it is, for CLI11 to refuse.
std::string seconds_of(std::string text) {
  static const std::map<char, int64_t> kUnits = {{'s', 1}, {'m', 60}, {'h', 3600}};
  const auto unit = text.empty() ? kUnits.end() : kUnits.find(text.back());
  if (unit == kUnits.end()) return text;
  const std::string number = text.substr(0, text.size() - 1);
  const bool digits =
      !number.empty() && number.size() < 7 && number.find_first_not_of("0123456789") == std::string::npos;
  return digits ? std::to_string(std::stoll(number) * unit->second) : text;
}

CLI::App* add_serve(CLI::App& app, ServeOptions& options) {
  CLI::App* serve = app.add_subcommand("serve", "Offer this node's functions to kubelet until TERM or INT");
  serve->add_option("--config-file", options.config_file, "What to offer, as resourceList");
  serve->add_option("--resource-prefix", options.resource_prefix, "For resources without a resourcePrefix");
  serve->add_flag("--strict-config", options.strict_config,
                  "Unknown keys in the configuration are errors, and a faulty entry refuses it");
  serve->add_option("--kubelet-root", options.kubelet_root, "Kubelet's folder, as on the host");
  serve->add_option(
      "--registration", options.registration,
      "How to register: watcher, legacy, or auto (watcher if KUBELET_ROOT/plugins_registry exists)");
  serve->add_option("--device-info-dir", options.device_info_dir, "Where Multus reads device information");
  serve->add_option("--run-dir", options.run_dir, "Shared with vfrail-cni on this node");
  serve->add_option("--cni-state-dir", options.cni_state_dir,
                    "Where vfrail-cni has its records; one that outlives its pod is reported");
  serve->add_option("--sweep", options.sweep_program,
                    "The installed vfrail-cni, to run its sweep with when pods have left something behind");
  serve->add_option("--root", options.root, "Read sys, proc and dev below this folder");
  serve
      ->add_option(
          "--rescan-interval", options.rescan_interval,
          "Seconds between rescans, also as 90s or 2m (HUP: now); by default 60, or 600 where the kernel's "
          "events report what changes")
      ->transform(seconds_of)
      ->option_text("SECONDS");
  serve->add_flag("--verbs-events", options.verbs_events,
                  "Open the ports' RDMA devices, to be notified of InfiniBand ports that go down or up");
  serve->add_option("--metrics-address", options.metrics_address,
                    "Serve /metrics, /healthz and /readyz there: localhost:PORT, ADDRESS:PORT, unix:/PATH");
  serve->add_option("--log-level", options.log_level,
                    "error, warning, info or debug; or a number as of glog's -v (from 4: debug)");
  serve->add_option("--log-format", options.log_format, "text or json");
  serve->add_flag("--use-cdi", options.use_cdi, "Give device nodes to the runtime by CDI, not by kubelet");
  serve->add_option("--cdi-dir", options.cdi_dir, "Where the runtime reads CDI specs");
  add_peers_flags(*serve, options);
  return serve;
}

CLI::App* add_check_config(CLI::App& app, CheckConfigOptions& options) {
  CLI::App* check =
      app.add_subcommand("check-config", "Say whether a configuration is right, and what is wrong");
  check
      ->add_option(
          "FILE", options.files,
          "Configurations and networks, as they are or as objects of Kubernetes in YAML or JSON; - is stdin")
      ->required();
  check->add_option("--resource-prefix", options.resource_prefix, "For resources without a resourcePrefix");
  check->add_flag("--strict-config", options.strict, "Unknown keys are errors, and warnings exit with 1");
  return check;
}

CLI::App* add_render(CLI::App& app, RenderOptions& options) {
  CLI::App* render = app.add_subcommand(
      "render", "Print the NetworkAttachmentDefinition that network-operator makes of a HostDeviceNetwork");
  render->add_option("FILE", options.file, "HostDeviceNetworks in YAML or JSON; - is stdin")->required();
  render->add_option("--type", options.type, "host-device, as network-operator does it, or vfrail")
      ->check(CLI::IsMember({"host-device", "vfrail"}))
      ->option_text("host-device|vfrail");
  return render;
}

CLI::App* add_inspect(CLI::App& app, InspectOptions& options) {
  using Output = InspectOptions::Output;
  options.root = default_root();
  CLI::App* inspect =
      app.add_subcommand("inspect", "Show the functions, the pool of each, or why it is in none");
  inspect->add_option("--config-file", options.config_file, "Show the pools that this configuration makes");
  inspect->add_option("--resource-prefix", options.resource_prefix, "For resources without a resourcePrefix");
  inspect->add_flag("--strict-config", options.strict, "Unknown keys in the configuration are errors");
  const std::map<std::string, Output> words{
      {"text", Output::text}, {"wide", Output::wide}, {"name", Output::name}, {"json", Output::json}};
  inspect
      ->add_option("-o,--output", options.output,
                   "text, wide (all reasons, whole lines), name (ids alone) or json")
      ->transform(CLI::CheckedTransformer(words))
      ->option_text("text|wide|name|json");
  inspect
      ->add_option_function<std::string>(
          "--explain", [&options](const std::string& device) { options.explain = device; },
          "Say for each resource what of a device matched and what did not; of all without DEVICE")
      ->expected(0, 1)
      ->option_text("[DEVICE]");
  inspect->add_flag("--distances", options.distances,
                    "Show how far the devices are from the GPUs and from each other");
  inspect->add_option("--root", options.root, "Read sys, proc and dev below this folder");
  return inspect;
}

CLI::App* add_doctor(CLI::App& app, DoctorOptions& options) {
  options.root = default_root();
  CLI::App* doctor = app.add_subcommand("doctor", "Check this node, and say what to do");
  doctor->add_option("--root", options.root, "Read sys, proc and dev below this folder");
  doctor
      ->add_option_function<std::string>(
          "-o,--output", [&options](const std::string& word) { options.json = word == "json"; },
          "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->option_text("text|json");
  return doctor;
}

CLI::App* add_capture(CLI::App& app, CaptureOptions& options) {
  options.root = default_root();
  CLI::App* capture = app.add_subcommand(
      "capture", "Copy what vfrail reads of this node into a new folder, for an issue; --root takes it");
  capture->add_option("DIR", options.folder, "The folder")->required();
  capture->add_option("--root", options.root, "Read sys, proc and dev below this folder");
  return capture;
}

int run(int argc, char** argv) {
  CLI::App app(kAbout, "vfrail");
  app.require_subcommand(1);
  app.get_formatter()->column_width(32);
  app.option_defaults()->always_capture_default()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  ServeOptions serve_options;
  serve_options.config_file = default_config_file([](const std::string& file) {
    std::error_code unknown;
    return std::filesystem::exists(file, unknown);
  });
  CheckConfigOptions check_options;
  RenderOptions render_options;
  InspectOptions inspect_options;
  DoctorOptions doctor_options;
  CaptureOptions capture_options;
  CLI::App* serving = add_serve(app, serve_options);
  CLI::App* checking = add_check_config(app, check_options);
  CLI::App* rendering = add_render(app, render_options);
  CLI::App* inspecting = add_inspect(app, inspect_options);
  CLI::App* doctoring = add_doctor(app, doctor_options);
  CLI::App* capturing = add_capture(app, capture_options);
  app.add_subcommand("version", "Print the version");
  try {
    auto words = read_command_line({argv, argv + argc});
    std::reverse(words.begin(), words.end());  // as CLI11 wants them
    app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (serving->parsed()) return serve(serve_options);
  if (checking->parsed()) return check_config(check_options);
  if (rendering->parsed()) return render(render_options);
  if (inspecting->parsed()) return inspect(inspect_options);
  if (doctoring->parsed()) return doctor(doctor_options);
  if (capturing->parsed()) return capture(capture_options);
  std::printf("vfrail %s\n", VFRAIL_VERSION);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "vfrail: %s\n", failure.what());
    return 1;
  }
}

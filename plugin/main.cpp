// vfrail: the device plugin and the administrator's command line. Flags in, exit code out:
// 0 done, 1 failed, 2 wrong usage or configuration.
#include "plugin/inspect.h"
#include "plugin/serve.h"

#include <cctype>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace {

using namespace vfrail;

constexpr const char* kAbout =
    "SR-IOV virtual functions with their RDMA devices for Kubernetes pods: the node's device plugin and what "
    "an\n"
    "administrator asks about it. Reads the configuration of sriov-network-device-plugin (resourceList).";

// Flags in Go's way, "-config-file=F" and "-v=10", as DaemonSets of the peers have them.
std::vector<std::string> reversed_arguments(int argc, char** argv) {
  std::vector<std::string> out;
  for (int i = argc - 1; i > 0; --i) {
    std::string word = argv[i];
    const bool one_dash =
        word.size() > 2 && word[0] == '-' && std::isalpha(static_cast<unsigned char>(word[1])) != 0;
    if (one_dash && (word[2] != '=' || word[1] == 'v')) word.insert(0, 1, '-');
    out.push_back(std::move(word));
  }
  return out;
}

CLI::App* add_serve(CLI::App& app, ServeOptions& options) {
  CLI::App* serve = app.add_subcommand("serve", "Offer this node's functions to kubelet until TERM or INT");
  serve->add_option("--config-file", options.config_file, "What to offer, as resourceList");
  serve->add_option("--resource-prefix", options.resource_prefix, "For resources without a resourcePrefix");
  serve->add_flag("--strict-config", options.strict_config, "Unknown keys in the configuration are errors");
  serve->add_option("--kubelet-root", options.kubelet_root, "Kubelet's folder, as on the host");
  serve->add_option(
      "--registration", options.registration,
      "How to register: watcher, legacy, or auto (watcher if KUBELET_ROOT/plugins_registry exists)");
  serve->add_option("--device-info-dir", options.device_info_dir, "Where Multus reads device information");
  serve->add_option("--run-dir", options.run_dir, "Shared with vfrail-cni on this node");
  serve->add_option("--cni-state-dir", options.cni_state_dir,
                    "Where vfrail-cni has its records; one that outlives its pod is told");
  serve->add_option("--sweep", options.sweep_program,
                    "The installed vfrail-cni, to run its sweep with when pods have left something behind");
  serve->add_option("--root", options.root, "Read sys, proc and dev below this folder");
  serve->add_option("--rescan-interval", options.rescan_interval,
                    "Seconds between looks at the devices when nothing happens (HUP: now)");
  serve->add_flag("--verbs-events", options.verbs_events,
                  "Open the ports' RDMA devices, to hear at once of InfiniBand ports that go down or up");
  serve->add_option("--metrics-address", options.metrics_address,
                    "Serve /metrics, /healthz and /readyz there: localhost:PORT, ADDRESS:PORT, unix:/PATH");
  serve->add_option("--log-level", options.log_level,
                    "error, warning, info or debug; or 0 to 10 (from 4: debug)");
  serve->add_option("--log-format", options.log_format, "text or json");
  serve->add_flag("--use-cdi", options.use_cdi, "Tell device nodes to the runtime by CDI, not to kubelet");
  serve->add_option("--cdi-dir", options.cdi_dir, "Where the runtime reads CDI specs");
  const auto ignore = [serve, &options](const char* flag, bool has_value) {
    CLI::Option* option =
        has_value ? serve->add_option_function<std::string>(
                        flag, [flag, &options](const std::string&) { options.ignored.emplace_back(flag); })
                  : serve->add_flag_function(
                        flag, [flag, &options](int64_t) { options.ignored.emplace_back(flag); });
    option->group("");  // accepted, because the peers' DaemonSets have them; not in the help
  };
  for (const char* flag :
       {"-v,--v", "--log-dir,--log_dir", "--stderrthreshold", "--vmodule", "--log_backtrace_at"})
    ignore(flag, true);
  for (const char* flag : {"--logtostderr", "--alsologtostderr"}) ignore(flag, false);
  return serve;
}

CLI::App* add_check_config(CLI::App& app, CheckConfigOptions& options) {
  CLI::App* check =
      app.add_subcommand("check-config", "Say whether a configuration is right, and what is wrong");
  check->add_option("FILE", options.config_file, "The configuration")->required();
  check->add_option("--resource-prefix", options.resource_prefix, "For resources without a resourcePrefix");
  check->add_flag("--strict-config", options.strict, "Unknown keys are errors");
  return check;
}

CLI::App* add_inspect(CLI::App& app, InspectOptions& options) {
  using Output = InspectOptions::Output;
  CLI::App* inspect =
      app.add_subcommand("inspect", "Show the functions, the pool of each, or why it is in none");
  inspect->add_option("--config-file", options.config_file, "Show the pools that this configuration makes");
  inspect->add_option("--resource-prefix", options.resource_prefix, "For resources without a resourcePrefix");
  inspect->add_flag("--strict-config", options.strict, "Unknown keys in the configuration are errors");
  const std::map<std::string, Output> words{{"text", Output::text}, {"json", Output::json}};
  inspect->add_option("-o,--output", options.output, "text or json")
      ->transform(CLI::Transformer(words))
      ->option_text("text|json");
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

CLI::App* add_capture(CLI::App& app, CaptureOptions& options) {
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
  CheckConfigOptions check_options;
  InspectOptions inspect_options;
  CaptureOptions capture_options;
  CLI::App* serving = add_serve(app, serve_options);
  CLI::App* checking = add_check_config(app, check_options);
  CLI::App* inspecting = add_inspect(app, inspect_options);
  CLI::App* capturing = add_capture(app, capture_options);
  app.add_subcommand("version", "Print the version");
  try {
    app.parse(reversed_arguments(argc, argv));
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (serving->parsed()) return serve(serve_options);
  if (checking->parsed()) return check_config(check_options);
  if (inspecting->parsed()) return inspect(inspect_options);
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

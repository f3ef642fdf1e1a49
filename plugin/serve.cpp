#include "plugin/serve.h"

#include "common/log.h"
#include "common/sys_root.h"
#include "common/unique_fd.h"
#include "plugin/cdi_folder.h"
#include "plugin/config_source.h"
#include "plugin/counters.h"
#include "plugin/daemon.h"
#include "plugin/host_kernel.h"
#include "plugin/inventory.h"
#include "plugin/kernel_events.h"
#include "plugin/kubelet.h"
#include "plugin/listen_address.h"
#include "plugin/pools.h"
#include "plugin/watched.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <malloc.h>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <utility>

namespace vfrail {

namespace {

// Words, and the verbosity numbers of glog that sriov-network-device-plugin's users have in their DaemonSets.
std::optional<LogLevel> read_log_level(const std::string& word) {
  if (const auto level = parse_log_level(word)) return level;
  if (word.size() == 1 && word[0] >= '0' && word[0] <= '9')
    return word[0] >= '4' ? LogLevel::debug : LogLevel::info;
  if (word == "10") return LogLevel::debug;
  return std::nullopt;
}

Result<> set_up_log(const ServeOptions& options, Log& log) {
  const auto level = read_log_level(options.log_level);
  if (!level) {
    return Error{Errc::invalid, 0,
                 "--log-level: '" + options.log_level + "' is none of error, warning, info, debug, 0 to 10"};
  }
  log.set_level(*level);
  if (options.log_format != "text" && options.log_format != "json") {
    return Error{Errc::invalid, 0, "--log-format: '" + options.log_format + "' is none of text, json"};
  }
  log.set_format(options.log_format == "json" ? LogFormat::json : LogFormat::text);
  return {};
}

struct Setup {
  Registration registration = Registration::watcher;
  ConfigSource config;
  std::optional<ListenAddress> metrics;
};

// Everything that the administrator can get wrong.
Result<Setup> check(const ServeOptions& options, Log& log) {
  TRY(set_up_log(options, log), "");
  if (options.rescan_interval < std::chrono::seconds{1} || options.rescan_interval > std::chrono::hours{24}) {
    return Error{Errc::invalid, 0, "--rescan-interval: 1 to 86400 seconds are allowed"};
  }
  std::optional<ListenAddress> metrics;
  if (!options.metrics_address.empty()) metrics = TRY(parse_listen_address(options.metrics_address), "");
  const Registration registration = TRY(choose_registration(options.kubelet_root, options.registration), "");
  const auto check_paths =
      [folder = socket_folder(options.kubelet_root, registration)](const Config& config) -> Result<> {
    for (const ResourceConfig& resource : config.resources) TRY(check_socket_path(resource, folder), "");
    return {};
  };
  auto config = TRY(ConfigSource::open({.config = {.file = options.config_file,
                                                   .default_prefix = options.resource_prefix,
                                                   .strict = options.strict_config},
                                        .check = check_paths}),
                    "");
  return Setup{registration, std::move(config), std::move(metrics)};
}

// Blocked before gRPC starts its threads, which inherit the mask: only the owner thread reads them.
Result<UniqueFd> catch_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, number);
  if (const int failed = ::pthread_sigmask(SIG_BLOCK, &signals, nullptr); failed != 0) {
    return Error::from_errno(failed, "block signals");
  }
  UniqueFd fd(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd.valid()) return Error::from_errno(errno, "make a signalfd");
  // A client that hangs up in the middle of an answer is no reason to die.
  ::signal(SIGPIPE, SIG_IGN);
  return fd;
}

void set_up_process() {
  // Sockets start without write permission for others, folders and files get the modes they are made with.
  ::umask(022);
  // gRPC's own lines say nothing that ours do not, in another form.
  ::setenv("GRPC_VERBOSITY", "NONE", 0);
  // glibc gives each of gRPC's threads an arena of its own, mostly empty and resident: one is enough here.
  ::mallopt(M_ARENA_MAX, 1);
  // What is large and rare (the text of a scrape) goes back to the kernel at once. Without this glibc raises
  // the limit with the first such block, and the next ones stay in the heap.
  ::mallopt(M_MMAP_THRESHOLD, 128 * 1024);
}

// CDI specs of functions that are no more.
void tidy_cdi_folder(const std::string& folder, const Pools& pools, Log& log) {
  std::set<std::string> there;
  for (const Pool& pool : pools.pools) {
    for (const PoolDevice& device : pool.devices) there.insert(device.id());
  }
  for (const LeftOut& device : pools.left_out) there.insert(device.id);
  const auto is_there = [&](const std::string& id) { return there.contains(id); };
  for (const std::string& name : remove_specs_of_gone_devices(folder, is_there)) {
    log.info("a CDI spec whose device is gone is removed", {{"file", name}});
  }
}

Result<Pools> look(const SysRoot& sys, Kernel* kernel, const Config& config) {
  Pools pools;
  {
    const Inventory inventory = TRY(scan(sys, kernel), "scan the PCI functions");
    pools = match(config, inventory);
    pools.warnings.insert(pools.warnings.end(), inventory.warnings.begin(), inventory.warnings.end());
  }
  // The inventory of a thousand functions is several times what stays.
  ::malloc_trim(0);
  return pools;
}

// Null: nobody wants to see.
Result<std::unique_ptr<Watched>> watch(const ServeOptions& options, const Setup& setup,
                                       const Counters& counters, Status& status, Log& log) {
  if (!setup.metrics) return std::unique_ptr<Watched>();
  auto out = TRY(Watched::start({.address = *setup.metrics,
                                 .sys = SysRoot(options.root),
                                 .own_host = options.root == "/",
                                 .kubelet_root = options.kubelet_root},
                                counters, status, log),
                 "");
  log.info("metrics are served", {{"address", out->address().text()}});
  if (!setup.metrics->local) {
    log.warning("metrics can be read from other machines, without authentication",
                {{"address", out->address().text()}});
  }
  return out;
}

Result<> run(const ServeOptions& options, Setup& setup, const UniqueFd& signals, Log& log) {
  const auto kernel = TRY(host_kernel(options.root), "open the kernel's network interface");
  const SysRoot sys(options.root);
  const HandOutPlaces places{.sys = sys,
                             .device_info_dir = options.device_info_dir,
                             .run_dir = options.run_dir,
                             .cdi_dir = options.use_cdi ? options.cdi_dir : std::string()};
  if (options.use_cdi) TRY(open_cdi_folder(places.cdi_dir), "");
  KernelEvents events(log, options.verbs_events ? KernelEvents::Verbs::on : KernelEvents::Verbs::off);
  Counters counters;
  Status status;
  const auto watched = TRY(watch(options, setup, counters, status, log), "");
  Daemon daemon({.kubelet_root = options.kubelet_root,
                 .registration = setup.registration,
                 .places = places,
                 .rescan_interval = options.rescan_interval,
                 .cni_state_dir = options.cni_state_dir,
                 .sweep_program = options.sweep_program,
                 .look =
                     [&](const Config& config) {
                       auto pools = look(sys, kernel.get(), config);
                       if (pools && options.use_cdi) tidy_cdi_folder(places.cdi_dir, *pools, log);
                       return pools;
                     },
                 .config = setup.config,
                 .events = &events,
                 .signal_fd = signals.get(),
                 .counters = &counters,
                 .status = &status},
                log);
  return daemon.run();
}

}  // namespace

int serve(const ServeOptions& options) {
  set_up_process();
  Log log;
  const auto signals = catch_signals();
  if (!signals) {
    log.error("cannot start", {{"reason", signals.error().text}});
    return 1;
  }
  auto setup = check(options, log);
  if (!setup) {
    log.error("cannot start", {{"reason", setup.error().text}});
    return 2;
  }
  for (const std::string& flag : options.ignored) log.warning("flag has no effect here", {{"flag", flag}});
  if (const auto ran = run(options, *setup, *signals, log); !ran) {
    log.error("cannot serve", {{"reason", ran.error().text}});
    return 1;
  }
  return 0;
}

}  // namespace vfrail

#include "plugin/service/serve.h"

#include "common/errors/error_id.h"
#include "common/files.h"
#include "common/log.h"
#include "common/node/sys_root.h"
#include "common/node/unclean.h"
#include "common/one_of.h"
#include "common/unique_fd.h"
#include "plugin/device/allocate/cdi_choice.h"
#include "plugin/device/allocate/cdi_folder.h"
#include "plugin/device/allocate/freed_files.h"
#include "plugin/device/config/formats/source.h"
#include "plugin/device/inventory/host_kernel.h"
#include "plugin/device/provisioning/progress.h"
#include "plugin/observe/events/folder_events.h"
#include "plugin/observe/events/kernel_events.h"
#include "plugin/observe/link_up.h"
#include "plugin/observe/metrics/listen_address.h"
#include "plugin/observe/status/counters.h"
#include "plugin/publish/feature_file.h"
#include "plugin/publish/notice_link.h"
#include "plugin/service/daemon.h"
#include "plugin/service/dra_front_end.h"
#include "plugin/service/kubelet/kubelet.h"
#include "plugin/service/kubelet/kubelet_publisher.h"
#include "plugin/service/last_resort.h"
#include "plugin/service/monitoring/monitoring_server.h"
#include "plugin/service/node_reader.h"
#include "plugin/service/thread_room.h"

#include <cerrno>
#include <charconv>
#include <chrono>
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
#include <vector>

namespace vfrail::plugin {

namespace {

// The default interval of scans.
constexpr std::chrono::seconds kRescanInterval{60};
// The same where the kernel's events report changes. A scan of a thousand VFs costs some 50 ms of CPU, and
// finds only what raises no event, such as an address of the host.
constexpr std::chrono::seconds kQuietInterval{600};

// Names, and the verbosity numbers of glog that sriov-network-device-plugin's users have in their DaemonSets:
// any integer of 32 bits, of which its code uses 1 to 10.
std::optional<LogLevel> read_log_level(const std::string& word) {
  if (word.empty()) return LogLevel::info;
  if (const auto level = parse_log_level(word)) return level;
  int32_t verbosity = 0;
  const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), verbosity);
  if (failed != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return verbosity >= 4 ? LogLevel::debug : LogLevel::info;
}

Result<> set_up_log(const ServeOptions& options, Log& log) {
  const bool by_name = !options.log_level.empty();
  const std::string& word = by_name ? options.log_level : options.verbosity;
  const auto level = read_log_level(word);
  if (!level) {
    return Error{Errc::invalid, 0,
                 std::string(by_name ? "--log-level" : "-v") +
                     ": must be one of error, warning, info, debug, or a whole number, got \"" + word + "\"",
                 ErrorId::option_invalid};
  }
  log.set_level(*level);
  if (options.log_format != "text" && options.log_format != "json") {
    return Error{Errc::invalid, 0, "--log-format: " + must_be_one_of({"text", "json"}, options.log_format),
                 ErrorId::option_invalid};
  }
  log.set_format(options.log_format == "json" ? LogFormat::json : LogFormat::text);
  return {};
}

// Kubelet gives a terminating pod 30 s by default, our DaemonSet 10.
constexpr std::chrono::seconds kMostEndTime{5};

struct Monitoring {
  ListenAddress address;
  bool metrics = true;  // false: health and readiness alone
};

struct Setup {
  Registration registration = Registration::watcher;
  ConfigSource config;
  std::optional<Monitoring> monitoring;  // no value: no page is served
  CdiUse cdi = CdiUse::automatic;
};

Result<std::optional<Monitoring>> choose_monitoring(const ServeOptions& options) {
  const bool metrics = !options.metrics_address.empty();
  if (!metrics && options.probe_address.empty()) return std::optional<Monitoring>();
  if (metrics && !options.probe_address.empty())
    return Error{Errc::invalid, 0, "--probe-address: --metrics-address serves /healthz and /readyz as well",
                 ErrorId::option_invalid};
  const std::string& address = metrics ? options.metrics_address : options.probe_address;
  return std::optional(Monitoring{
      TRY(parse_listen_address(address), metrics ? "--metrics-address" : "--probe-address"), metrics});
}

// Everything that the administrator can configure wrongly.
Result<Setup> check(const ServeOptions& options, Log& log) {
  TRY(set_up_log(options, log));
  const auto interval = options.rescan_interval.value_or(kRescanInterval);
  if (interval < std::chrono::seconds{1} || interval > std::chrono::hours{24}) {
    return Error{Errc::invalid, 0,
                 "--rescan-interval: must be 1 to 86400 seconds, got " + std::to_string(interval.count()),
                 ErrorId::option_invalid};
  }
  if (!options.cni_bin_dir.starts_with('/')) {
    return Error{Errc::invalid, 0,
                 "--cni-bin-dir: must be an absolute path, got \"" + options.cni_bin_dir + "\"",
                 ErrorId::option_invalid};
  }
  if (!options.events_socket.empty() && !options.events_socket.starts_with('/')) {
    return Error{Errc::invalid, 0,
                 "--events-socket: must be an absolute path, got \"" + options.events_socket + "\"",
                 ErrorId::option_invalid};
  }
  if (!options.nfd_features.empty() && !options.nfd_features.starts_with('/')) {
    return Error{Errc::invalid, 0,
                 "--nfd-features: must be an absolute path, got \"" + options.nfd_features + "\"",
                 ErrorId::option_invalid};
  }
  const auto cdi = parse_cdi_use(options.use_cdi);
  if (!cdi)
    return Error{Errc::invalid, 0, "--use-cdi: " + must_be_one_of({"auto", "true", "false"}, options.use_cdi),
                 ErrorId::option_invalid};
  auto monitoring = TRY(choose_monitoring(options));
  const Registration registration = TRY(choose_registration(options.kubelet_root, options.registration));
  auto config = TRY(ConfigSource::open({.file = options.config_file,
                                        .default_prefix = options.resource_prefix,
                                        .strict = options.strict_config,
                                        .socket_folder = socket_folder(options.kubelet_root, registration)}));
  return Setup{registration, std::move(config), std::move(monitoring), *cdi};
}

// Blocked before gRPC starts its threads, which inherit the mask: only the owner thread reads them.
Result<UniqueFd> catch_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGTERM, SIGINT, SIGQUIT, SIGHUP}) sigaddset(&signals, number);
  if (const int failed = ::pthread_sigmask(SIG_BLOCK, &signals, nullptr); failed != 0) {
    return Error::from_errno(failed, "block signals");
  }
  UniqueFd fd(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd.valid()) return Error::from_errno(errno, "make a signalfd");
  // A client that hangs up in the middle of an answer must not end the process.
  ::signal(SIGPIPE, SIG_IGN);
  return fd;
}

void set_up_process() {
  // Sockets start without write permission for others, folders and files get the modes they are created with.
  ::umask(022);
  // gRPC's own lines add nothing, in another format.
  ::setenv("GRPC_VERBOSITY", "NONE", 0);
  // glibc gives each of gRPC's threads an arena of its own, mostly empty and resident: one is enough here.
  ::mallopt(M_ARENA_MAX, 1);
  // Large and rare blocks (the text of a scrape) are returned to the kernel at once. Without this glibc
  // raises the limit with the first such block, and the next ones stay in the heap.
  ::mallopt(M_MMAP_THRESHOLD, 128 * 1024);
}

// A runtime with CDI takes milliseconds; on a node that is starting, more.
constexpr std::chrono::milliseconds kRuntimeReadsWithin{5000};

// A runtime without CDI ignores the names, and the container has no device nodes. By kubelet every runtime
// gets them; but nothing corrects them when an RDMA device is renumbered.
CdiChoice choose_cdi_folder(const ServeOptions& options, CdiUse use, const SysRoot& sys, Log& log) {
  CdiChoice out = choose_cdi(use, options.cdi_dir, sys, [&](const std::string& folder, bool seen) {
    std::string why = not_of_host(folder, sys);
    if (!why.empty()) return why;
    const auto opened = open_cdi_folder(folder);
    if (!opened) return opened.error().text;
    return seen ? find_no_reader(folder, kRuntimeReadsWithin) : std::string();
  });
  if (out.refused) {
    log.warning("CDI is asked for and cannot work: device nodes go by kubelet",
                {{"reason", out.why},
                 {"remedy",
                  "enable CDI (containerd 1.7 or later), with the folder of --cdi-dir in "
                  "cdi_spec_dirs, and start this pod again"},
                 {"id", id_text(ErrorId::cdi_not_supported)}});
  } else if (out.folder.empty()) {
    log.info("device nodes go by kubelet, without CDI",
             {{"reason", out.why}, {"id", id_text(ErrorId::cdi_not_supported)}});
  } else {
    log.info("device nodes go by CDI", {{"folder", out.folder}, {"reason", out.why}});
  }
  return out;
}

Result<Pools> read_pools(NodeReader& node, const Config& config, const Changed& changed, LinksUp& links) {
  auto pools = node.read(config, changed);
  // What a scan of a thousand functions needs is several times what stays.
  ::malloc_trim(0);
  if (!pools) return pools;
  for (Warning& warning : links.follow(*pools)) pools->warnings.push_back(std::move(warning));
  return pools;
}

// As host_kernel(). Not knowing whether this is the host's network namespace is as being in another one: the
// devices are served.
Result<std::unique_ptr<Kernel>> open_kernel(const ServeOptions& options, Log& log) {
  if (options.root != "/") {
    if (const auto is_host = is_host_netns(SysRoot(options.root)); !is_host.ok()) {
      log.warning(
          "whether this is the host's network namespace is not known; its interfaces stay as they are",
          {{"reason", is_host.error().text}, {"id", is_host.error().id_text()}});
      return std::unique_ptr<Kernel>();
    }
  }
  return TRY(host_kernel(options.root), "open the kernel's network interface");
}

// Null: no monitoring.
Result<std::unique_ptr<MonitoringServer>> start_monitoring(const ServeOptions& options,
                                                           const NodePages& pages, const Setup& setup,
                                                           bool uses_cdi, const Counters& counters,
                                                           LiveStatus& status, Log& log) {
  if (!setup.monitoring) return std::unique_ptr<MonitoringServer>();
  const auto page = [&options](NodePage make) {
    return make == nullptr ? MonitoringServer::MakePage() : [&options, make] { return make(options); };
  };
  auto out = TRY(MonitoringServer::start({.address = setup.monitoring->address,
                                          .metrics = setup.monitoring->metrics,
                                          .sys = SysRoot(options.root),
                                          .kubelet_root = options.kubelet_root,
                                          .uses_cdi = uses_cdi,
                                          .max_series = options.metrics_max_series,
                                          .inspect = page(pages.inspect),
                                          .doctor = page(pages.doctor)},
                                         counters, status, log));
  if (!setup.monitoring->metrics) {
    log.info("probes are served", {{"address", out->address().text()}});
  } else if (setup.monitoring->address.local) {
    log.info("metrics are served", {{"address", out->address().text()}});
  } else {
    log.info("metrics are served, to other machines as well and without authentication",
             {{"address", out->address().text()}});
  }
  return out;
}

// A container gets the devices of a claim by CDI alone: kubelet passes on nothing else.
Result<> check_dra(const ServeOptions& options, const CdiChoice& cdi) {
  if (options.dra_socket.empty() && (options.dra_drain || options.dra_chained))
    return Error{Errc::invalid, 0,
                 std::string(options.dra_drain ? "--dra-drain" : "--dra-chained") +
                     ": it needs --dra-socket: without it nothing is offered to claims"};
  if (options.dra_socket.empty() || !cdi.folder.empty()) return {};
  return Error{Errc::unsupported, 0,
               "--dra-socket: containers get devices of claims by CDI alone, and here it is off: " + cdi.why,
               ErrorId::cdi_not_supported};
}

Result<> run(const ServeOptions& options, const NodePages& pages, Setup& setup, const UniqueFd& signals,
             Log& log) {
  TRY(check_thread_room());
  const auto kernel = TRY(open_kernel(options, log));
  const SysRoot sys(options.root);
  const CdiChoice cdi = choose_cdi_folder(options, setup.cdi, sys, log);
  TRY(check_dra(options, cdi));
  const bool use_cdi = !cdi.folder.empty();
  const AllocatePlaces places{.sys = sys,
                              .device_info_dir = options.device_info_dir,
                              .run_dir = options.run_dir,
                              .cni_dir = options.cni_bin_dir,
                              .cdi_dir = cdi.folder,
                              .cni_state_dir = options.cni_state_dir};
  if (use_cdi) TRY(open_cdi_folder(places.cdi_dir));
  const std::string provision_dir = options.run_dir + "/" + kProvisionFolder;
  NodeReader node(sys, kernel.get(), options.cni_state_dir, provision_dir);
  KernelEvents events(log, options.verbs_events ? KernelEvents::Verbs::on : KernelEvents::Verbs::off);
  LinksUp links(kernel.get(), log);
  events.add(std::make_unique<FolderEvents>(unclean_folder(options.cni_state_dir)));
  events.add(std::make_unique<FolderEvents>(options.cni_state_dir));  // where that folder is made
  // Else the first progress of provision is seen at the next scan.
  if (!setup.config.now().vfs.entries.empty() && make_folder(provision_dir, 0700))
    (void)make_folder(progress_folder(provision_dir), 0700);
  events.add(std::make_unique<FolderEvents>(progress_folder(provision_dir)));
  Counters counters;
  LiveStatus status;
  const auto monitoring = TRY(start_monitoring(options, pages, setup, use_cdi, counters, status, log));
  const auto care_for_specs = [&](const DevicesInUse& in_use, const std::set<std::string>* there) {
    if (there != nullptr) {
      for (const std::string& name :
           remove_specs_of_gone_devices(places.cdi_dir, {*there, in_use, sys, places.run_dir}))
        log.info("a CDI spec is removed, its device is gone and no container has it", {{"file", name}});
    }
    return warn_of_unread_specs(places.cdi_dir, in_use);
  };
  FreedFiles freed({.run_dir = places.run_dir, .device_info_dir = places.device_info_dir});
  const auto care_for_freed = [&](const DevicesInUse& in_use, const AttachedDevices& attached,
                                  FreedFiles::Time asked) -> std::optional<FreedFiles::Time> {
    const auto done = freed.follow(in_use, attached, asked, std::chrono::steady_clock::now());
    if (!done) {
      log.warning("files of devices that no container has cannot be removed",
                  {{"reason", done.error().text}, {"id", done.error().id_text()}});
      return std::nullopt;
    }
    for (const std::string& id : done->removed)
      log.info("what was written for the pod of a device is removed, no container has it", {{"device", id}});
    return done->ask_at;
  };
  std::optional<DraFrontEnd> dra;
  if (options.dra_socket.empty()) {
    // Else a pod can get a share by the device plugin, and then no pool goes by claims because it once did.
    TRY(forget_shared_ways(options.run_dir));
    (void)remove_offer_state(options.run_dir);  // of one that was killed
  } else {
    dra.emplace(options, places, counters, log);
  }
  KubeletPublisher kubelet(
      {.kubelet_root = options.kubelet_root,
       .registration = setup.registration,
       .places = places,
       .counters = &counters,
       .serves = [&dra](const ResourceConfig& one) { return !dra || !dra->offer.by_claims(one); },
       .claimed =
           [&dra](const ResourceConfig& one) {
             return dra ? dra->offer.claimed(one) : std::set<std::string>();
           }},
      log);
  std::vector<Publisher*> publishers{&kubelet};
  if (dra) {
    publishers.push_back(&dra->offer);
    publishers.push_back(&dra->claims);
    publishers.push_back(&dra->statuses);
  }
  FeatureFile labels({.folder = options.nfd_features, .sys = sys}, log);
  if (!options.nfd_features.empty()) publishers.push_back(&labels);
  Daemon daemon(
      {.publishers = publishers,
       .rescan_interval = options.rescan_interval.value_or(kRescanInterval),
       .quiet_interval = options.rescan_interval.value_or(kQuietInterval),
       .own_netns_is_host = kernel != nullptr,
       .cni_state_dir = options.cni_state_dir,
       .sweep_program = options.sweep_program,
       .read_pools = [&](const Config& config,
                         const Changed& changed) { return read_pools(node, config, changed, links); },
       .care_for_specs = use_cdi ? care_for_specs : Daemon::Options::CareForSpecs(),
       .care_for_freed = care_for_freed,
       .config = setup.config,
       .events = &events,
       .on_stop = [] { end_within(kMostEndTime); },
       .signal_fd = signals.get(),
       .counters = &counters,
       .status = &status},
      log);
  std::optional<NoticeLink> notices;
  if (!options.events_socket.empty())
    notices.emplace(
        NoticeLink::Options{.socket = options.events_socket}, [&status] { return status.get(); }, log);
  return daemon.run();
}

}  // namespace

int serve(const ServeOptions& options, const NodePages& pages) {
  say_why_it_ends();
  set_up_process();
  Log log;
  const auto signals = catch_signals();
  if (!signals) {
    log.error("cannot start", {{"reason", signals.error().text}, {"id", signals.error().id_text()}});
    return 1;
  }
  auto setup = check(options, log);
  if (!setup) {
    log.error("cannot start", {{"reason", setup.error().text}, {"id", setup.error().id_text()}});
    return 2;
  }
  for (const std::string& flag : options.ignored)
    log.info("flag has no effect here, the log goes to stderr", {{"flag", flag}});
  if (const auto ran = run(options, pages, *setup, *signals, log); !ran) {
    log.error("cannot serve", {{"reason", ran.error().text}, {"id", ran.error().id_text()}});
    return 1;
  }
  return 0;
}

}  // namespace vfrail::plugin

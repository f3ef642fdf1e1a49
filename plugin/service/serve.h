// serve: `vfrail serve`, from its options to the running daemon. Reads the configuration, sets the process up
// (signals, memory, umask), and owns nothing afterwards.
#pragma once

#include "common/programs.h"
#include "common/result.h"
#include "plugin/device/config/config.h"
#include "plugin/dra/offer.h"
#include "plugin/observe/metrics/metrics.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vfrail::plugin {

struct ServeOptions {
  std::string config_file;
  std::string resource_prefix = kPeersPrefix;
  bool strict_config = false;
  std::string kubelet_root = kKubeletRoot;
  std::string registration = "auto";
  std::string device_info_dir = "/var/run/k8s.cni.cncf.io/devinfo/dp";
  std::string run_dir = "/run/vfrail";
  std::string cni_bin_dir = kCniFolder;
  std::string cni_state_dir = "/var/lib/cni/vfrail";
  std::string sweep_program;  // empty: orphaned attachments are only reported
  std::string root = "/";
  std::optional<std::chrono::seconds> rescan_interval;  // no value: depends on the kernel's events
  bool verbs_events = false;                            // open RDMA devices for events of their ports
  std::string metrics_address;                          // empty: none
  size_t metrics_max_series = kMaxDeviceSeries;         // about single devices
  std::string probe_address;                            // empty: none; as metrics_address, without /metrics
  std::string nfd_features;                             // folder of feature files; empty: none
  std::string events_socket;  // where vfrail-kube listens that posts Events of the Node; empty: none are
  std::string dra_socket;     // where vfrail-kube listens; empty: no dynamic resource allocation
  std::string dra_driver = kDraDriver;
  std::string dra_instance;  // distinguishes two that run at a rolling update: the pod's uid; empty: one
  bool dra_for_dranet = false;
  bool dra_data_direct = false;  // as OfferOptions::root_of_data_direct
  bool dra_drain = false;
  bool dra_chained = false;  // vfrail-cni attaches the devices of claims in Multus' place
  uint32_t dra_lanes = 1;    // devices for claims of one that pods share
  std::string log_level;     // empty: by `verbosity`
  std::string verbosity;     // glog's -v: from 4 on debug; empty: info
  std::string log_format = "text";
  std::string use_cdi = "auto";      // or "true", "false"
  std::string cdi_dir;               // empty: the one of the container runtime
  std::vector<std::string> ignored;  // flags of the peers that have no effect here
};

// The JSON of a page about this node, which the administrator's commands make (plugin_admin), and serve
// without them does not have.
using NodePage = Result<std::string> (*)(const ServeOptions&);

struct NodePages {
  NodePage inspect = nullptr;  // null: the page is not served
  NodePage doctor = nullptr;
};

// The exit code: 0 stopped by a signal, 1 failed, 2 the options or the configuration are wrong.
int serve(const ServeOptions& options, const NodePages& pages = {});

}  // namespace vfrail::plugin

// `vfrail-cni uninstall`: removes what vfrail has put on a node: its executables, records, locks, CDI specs,
// device-info files, and what its DRA driver had in kubelet's folders. Never while an attachment is recorded,
// because its pod's DEL needs both, nor while a claim is prepared, which kubelet has the driver unprepare.
#pragma once

#include "common/container/claim_name.h"
#include "common/result.h"

#include <string>
#include <vector>

namespace vfrail::cni {

struct UninstallPlaces {
  std::string root;         // "" or "/host": all of these are below it
  std::string cni_folder;   // "/opt/cni/bin"
  std::string state;        // "/var/lib/cni/vfrail"
  std::string run;          // "/run/vfrail"
  std::string cdi;          // "/run/cdi"
  std::string device_info;  // "/run/k8s.cni.cncf.io/devinfo/dp"
  std::string more_cdi;     // "/etc/cdi", of a plugin with --cdi-dir; empty: none
  std::string kubelet;      // "/var/lib/kubelet"
  std::string driver;       // of DRA: "vfrail.io"
};

// Of what an administrator may have elsewhere.
struct UninstallOptions {
  std::string cdi_folder = {};
  std::string kubelet_folder = "/var/lib/kubelet";
  std::string driver = kDraDriver;
};

// The places of a node whose file system is below `root`; the folders are paths there.
UninstallPlaces places_below(const std::string& root, const std::string& cni_folder,
                             const UninstallOptions& options = {});

// The paths that were removed; empty on a node without files of vfrail. Errc::busy while attachments are
// recorded or claims are prepared.
Result<std::vector<std::string>> uninstall(const UninstallPlaces& places);

}  // namespace vfrail::cni

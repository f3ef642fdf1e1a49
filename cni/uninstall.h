// `vfrail-cni uninstall`: removes what vfrail has put on a node: its executables, records, locks, CDI specs
// and device-info files. Never while an attachment is recorded, because its pod's DEL needs both.
#pragma once

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
};

// The places of a node whose file system is below `root`; the folders are paths there.
UninstallPlaces places_below(const std::string& root, const std::string& cni_folder,
                             const std::string& cdi_folder = "");

// The paths that were removed; empty on a node without files of vfrail. Errc::busy while attachments are
// recorded.
Result<std::vector<std::string>> uninstall(const UninstallPlaces& places);

}  // namespace vfrail::cni

// World: everything outside the program that a verb may touch.
#pragma once

#include "cni/conf/result.h"
#include "cni/node/device.h"
#include "cni/node/search_time.h"
#include "cni/record/record.h"
#include "common/container/cdi_spec.h"
#include "common/kernel/kernel.h"
#include "common/kernel/upper_links.h"
#include "common/log.h"
#include "common/node/sys_root.h"
#include "common/result.h"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace vfrail::cni {

struct World {
  Kernel& host;
  SysRoot sys;
  RecordStore store;
  std::string run_folder;  // common/container/allocated_nodes.h
  // Null: there is no namespace at that path (any more).
  std::function<Result<std::unique_ptr<Kernel>>(const std::string& path)> open_netns;
  Log& log;
  // cni/node/upper_search.h. Null: each namespace is opened to know.
  std::function<void(std::map<std::string, std::string>& namespaces, int lower)> erase_without_uppers = {};
  // What stands on the interface with that index `there`, in whichever namespace (cni/node/upper_links.h).
  // Null, or an error: it is not known, and namespaces are searched.
  std::function<Result<UpperLinks>(Kernel& there, int index)> upper_links = {};
  SearchTime search = {};
  // cni/node/device.h
  std::function<Result<>(const SysRoot&, const DeviceId&)> rebind = rebind_driver;
  std::function<Result<std::string>(const SysRoot&, const DeviceId&)> reset = reset_function;
  // Prints the result of an ADD for the runtime. An attachment whose result the runtime does not get does not
  // exist for it.
  std::function<Result<>(const AddResult&)> print_result = [](const AddResult&) { return Result<>(); };

  // The kernel returns a netdev from an ended namespace within some ms to seconds (cleanup_net() runs on a
  // workqueue).
  std::chrono::milliseconds return_timeout{5000};
  // A holder needs some 20 ms for each device; a whole node's worth of pods can start at once.
  std::chrono::milliseconds lock_timeout{30'000};
  // The kernel makes a GID some 0.5 ms after its address, and on an overloaded machine up to a second.
  std::chrono::milliseconds gid_timeout{2000};
  // whereabouts allows itself 2 minutes for ADD.
  std::chrono::milliseconds ipam_timeout{150'000};

  // The only folders in which a file is changed that a network's configuration or AllocatedNodes name. Multus
  // writes its files to the first; runtimes read CDI specs in the second. /var/run is /run, and
  // configurations have both.
  std::vector<std::string> device_info_folders{"/var/run/k8s.cni.cncf.io/devinfo",
                                               "/run/k8s.cni.cncf.io/devinfo"};
  std::vector<std::string> cdi_folders{kCdiFolder, "/run/cdi", "/etc/cdi"};
};

}  // namespace vfrail::cni

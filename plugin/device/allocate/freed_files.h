// FreedFiles: removes what Allocate has written down for vfrail-cni and Multus about a device, once kubelet
// says that no container has it: of a pod that named no network no DEL does. Never while a pod may have the
// device, and never what a later Allocate has written.
//
//   RUN/promised/0000:03:02.1.json    DEVICE-INFO/nvidia.com-hostdev-0000:03:02.1-device.json
#pragma once

#include "common/node/attachment_record.h"
#include "common/result.h"
#include "plugin/device/match/devices_in_use.h"

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace vfrail::plugin {

class FreedFiles {
 public:
  using Time = std::chrono::steady_clock::time_point;

  struct Options {
    std::string run_dir;
    std::string device_info_dir;
    // A file is removed when an answer says so that was asked for so long after an earlier one: kubelet knows
    // of an allocation a moment after it, and after its start of none until it has the pods.
    std::chrono::milliseconds after{30'000};
  };

  explicit FreedFiles(Options options) : options_(std::move(options)) {}

  struct Outcome {
    std::vector<std::string> removed;  // ids of devices
    std::optional<Time> ask_at;        // another answer decides
  };
  // After each answer of kubelet, with the devices of units, and which devices vfrail-cni's records name:
  // their DEL comes.
  Result<Outcome> follow(const DevicesInUse& in_use, const AttachedDevices& attached, Time asked, Time now);

 private:
  struct Seen {
    std::map<std::string, std::string> files;  // path -> identity_of_file()
    Time at;
  };
  Result<std::set<std::string>> busy_devices(const DevicesInUse& in_use,
                                             const AttachedDevices& attached) const;
  Result<std::vector<std::string>> allocated_devices() const;
  std::map<std::string, std::string> files_of(const std::string& id) const;

  Options options_;
  std::map<std::string, Seen> free_;  // device id -> since when
};

}  // namespace vfrail::plugin

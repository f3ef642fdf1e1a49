// The test of traffic as it is called: --listen, --to and --loopback, with what belongs to them.
#pragma once

#include "cni/in_pod/checks/pod_check.h"
#include "cni/in_pod/traffic/traffic_session.h"
#include "common/command/command_words.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace vfrail::pod {

enum class TrafficRole : uint8_t { listen, call, loop_back };

struct TrafficCommand {
  TrafficRole role = TrafficRole::listen;
  TrafficAddress to;                // of `call`
  std::optional<IpAddress> bind;    // of `listen`
  std::optional<std::string> test;  // its name; no value: that of the environment
  bool keep = false;                // listen for more than one test
  int64_t wait_seconds = 600;       // for a caller
  TrafficSize size;
  std::optional<uint32_t> gid_index;
};

std::vector<OptionText> traffic_options();
// No value: none of the three is asked for. An error: two are, or an option is that none of them has.
Result<std::optional<TrafficCommand>> read_traffic_command(const CommandWords& words);

// The rails to test, those of the pod file in its order first, then by PCI address; each with the GID index
// of the pod file, or the one that NCCL finds, unless the command has one.
std::vector<TrafficRail> traffic_rails(const CheckedPod& pod, std::optional<uint32_t> gid_index);

// The name of a test that is not given: VFRAIL_TEST, else the Job's in whose pod this is (of an Indexed Job,
// whose hostnames have it), else none.
std::string default_test_name(const PodEnvironment& environment);

// Of this pod, for the line that its user copies; "ADDRESS" if none is known.
std::string address_to_call(const CheckedPod& pod);

struct TrafficWorld {
  TrafficDevices& devices;
  const TrafficClock& clock;
  std::function<void(const std::string&)> say;  // what happens meanwhile, a line each
};
// Of `call` and `loop_back`.
Result<TrafficOutcome> test_traffic(const TrafficCommand& command, const CheckedPod& pod,
                                    const TrafficWorld& world);
// Returns after a test, or with `keep` when it is interrupted or nobody has called for `wait_seconds`.
Result<> listen_for_traffic(const TrafficCommand& command, const CheckedPod& pod, const TrafficWorld& world);

}  // namespace vfrail::pod

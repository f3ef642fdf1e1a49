// Advertised: what this node advertises over time. In go what was read of the node (match() has put it into
// pools), kubelet's answers, which devices vfrail-cni's records name, and the time; out come the pools for
// the publishers, when to read and to ask again, and what there is to say. A device is not what one scan
// sees: it is with its resource as long as a container may have it. Pure but for its memory: no thread, no
// file, no gRPC, no clock.
#pragma once

#include "common/log.h"
#include "common/node/attachment_record.h"
#include "common/result.h"
#include "plugin/device/advertise/debounce.h"
#include "plugin/device/advertise/departures.h"
#include "plugin/device/match/devices_in_use.h"
#include "plugin/device/match/published_pool.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace vfrail::plugin {

// What holds now of one topic, for Remarks::set().
struct Remark {
  const char* topic;
  std::vector<Warning> warnings;
  LogLevel level = LogLevel::warning;
};

class Advertised {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::milliseconds;

  struct Times {
    Duration move = Departures::kMove;
    Duration settle = Debounce::kHold;
    // After a reading that failed, if nothing else triggers the next one.
    Duration retry{5'000};
    // How long the first list waits for a device that cannot be read.
    Duration first_list{20'000};
    // Between two questions to kubelet, and while a device is in a list only because a container has it.
    Duration ask{300'000};
    Duration ask_while_waiting{15'000};
    // A device is orphaned when it stays so for this long: a pod starts and ends in several steps.
    Duration orphaned_after{120'000};
  };

  // Why the last reading failed, wholly or for some devices.
  struct Failure {
    std::string reason;
    ErrorId id;
    bool operator==(const Failure&) const = default;
  };

  // What the last list was made of, beside the pools.
  struct Rest {
    std::map<LeftOut::Kind, size_t> left_out;
    size_t unread = 0;
    bool infiniband_ports = false;
  };

  Advertised(const Times& times, Time start);

  // The node was read, or could not be. True: pools() are new. An error changes nothing that is published,
  // nor does a device that could not be read. The first list waits: for a device that cannot be read, and,
  // while a container may have one, for kubelet, who alone knows whose it is.
  bool read(Result<Pools> found, Time now);
  // The publishers' lists have changed: a device that vanished may be a pod's, and is put back then.
  void lists_changed(Time now) { ask_at_ = now; }

  // Another answer is needed then.
  void ask_by(Time then) { ask_at_ = std::min(ask_at_, then); }
  // Kubelet is asked now.
  void asked(Time now);
  // It has answered, or could not be asked. Its last answer stays then: a pod does not lose its devices
  // because kubelet restarts.
  void answered(DevicesInUse answer, Time asked, Time now);
  void not_answered(Time now);
  // After an answer: the devices that vfrail-cni's records name (no value: they cannot be read, and are as
  // they were) beside those that containers have. True: one is orphaned for long enough that was not at the
  // last call.
  bool find_orphans(std::optional<AttachedDevices> attached, Time now);

  const std::vector<PublishedPool>& pools() const { return published_; }
  bool has_list() const { return listed_at_.has_value(); }
  const Rest& rest() const { return rest_; }
  // Of the last reading.
  const std::optional<Failure>& failure() const { return failure_; }
  const std::vector<Remark>& remarks() const { return remarks_; }
  // By device, with a description.
  const std::map<std::string, std::string>& orphans() const { return orphans_; }
  // As far as it is known.
  const AttachedDevices& attached() const { return attached_; }

  // By kubelet's last answer, which has to be there; with the devices of units.
  DevicesInUse devices_in_use() const;
  // Whether that was asked after the last list was read: what the list lacks and no container has is free.
  bool answer_is_newer_than_list() const {
    return listed_at_ && answered_for_ && *answered_for_ >= *listed_at_;
  }

  // When to do so again even if nothing happens; Time::max(): nothing here needs it.
  Time read_at() const { return read_at_; }
  Time ask_at() const { return ask_at_; }

 private:
  void note_failure(const Result<Pools>& found, Time now);
  bool first_list_waits(const Pools& found, Time now) const;
  void publish(Pools found, Time now);

  const Times times_;
  const Time start_;
  Departures departures_;
  Debounce debounce_;
  std::vector<PublishedPool> published_;
  Rest rest_;
  std::optional<Failure> failure_;
  std::vector<Remark> remarks_;
  std::optional<Time> listed_at_;       // the reading that pools() are of
  std::optional<DevicesInUse> in_use_;  // nothing before kubelet's first answer
  std::optional<Time> answered_for_;    // when that was asked
  AttachedDevices attached_;
  std::map<std::string, Time> orphaned_since_;
  std::map<std::string, std::string> orphans_;  // those for longer than Times::orphaned_after
  Time read_at_ = Time::max();
  Time ask_at_{};
};

// What about the device is attached, and to whom (empty: that is not known), although kubelet has given it to
// no pod.
Warning describe_orphan(const std::string& device, const std::string& what, const std::string& owner);

}  // namespace vfrail::plugin

// SlicePublisher: brings the ResourceSlices of this node in line with the devices that are offered, pass by
// pass, and knows why they are not. Has no thread and waits for nothing but its requests.
#pragma once

#include "common/errors/error_id.h"
#include "common/log.h"
#include "plugin/kube/client/backoff.h"
#include "plugin/kube/node/device_check.h"
#include "plugin/kube/node/device_offer.h"
#include "plugin/kube/node/slice_writer.h"

#include <chrono>
#include <optional>
#include <set>
#include <string>

namespace vfrail::kube {

// As serve is answered.
struct PublishState {
  bool published = false;
  std::string reason = "the API server has not answered yet";  // why it is not; empty if it is
  std::string id = id_text(ErrorId::busy);                     // of that reason
  size_t slices = 0;
  size_t writes = 0;     // of slices, since the start
  bool sharing = false;  // the API server keeps allowMultipleAllocations
  size_t devices = 0;    // in the slices, as the API server has them
};

// Which fields of a device the API server keeps; by the feature gates that are off it drops others, and says
// nothing.
struct KeptFields {
  bool sharing;  // allowMultipleAllocations
  bool taints;
};

class SlicePublisher {
 public:
  using Steady = std::chrono::steady_clock;

  struct Outcome {
    bool decided;              // the state is about the devices of this pass
    Steady::time_point again;  // though nothing changes
  };

  // `pool` without the uid of the Node, which is read, and so often until the devices are published.
  SlicePublisher(ApiClient& client, PoolName pool, std::chrono::milliseconds node_reads, Log& log)
      : client_(client), writer_(client), log_(log), pool_(std::move(pool)), node_reads_(node_reads) {}

  Outcome pass(const DeviceOffer& offer, const ObjectWatch::View& view);
  const PublishState& state() const { return state_; }

 private:
  Outcome fail(const Error& error);
  Outcome hold(const Error& reason, bool decided);
  Result<> read_node(const DeviceOffer& offer, Steady::time_point now);
  Result<> find_kept_fields();
  AllowedDevices allow(const DeviceOffer& offer, const std::set<std::string>& published);
  Outcome write(const std::vector<SliceChange>& changes, const AllowedDevices& allowed);
  Outcome settle(const std::optional<Error>& held_back);
  void say_left_out(const LeftOut& left_out);
  Steady::time_point next_node_read() const;

  ApiClient& client_;
  SliceWriter writer_;
  Log& log_;
  PoolName pool_;
  const std::chrono::milliseconds node_reads_;
  NodeFacts node_;
  std::optional<Steady::time_point> node_read_;
  std::vector<std::string> node_read_for_;  // resources
  std::optional<KeptFields> kept_;          // no value: not known
  Backoff backoff_;
  Steady::time_point again_at_{};
  PublishState state_;
  std::string said_;  // reason, as it was logged
  std::set<std::string> said_left_out_;
};

}  // namespace vfrail::kube

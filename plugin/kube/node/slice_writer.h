// SliceWriter: carries out changes of ResourceSlices, and knows them until the watch shows them. Replaces a
// slice as often as SlicePace allows. Decides nothing. Belongs to one thread.
#pragma once

#include "plugin/kube/client/api_client.h"
#include "plugin/kube/node/slice_pace.h"
#include "plugin/kube/node/slices.h"

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace vfrail::kube {

class SliceWriter {
 public:
  using Steady = std::chrono::steady_clock;

  explicit SliceWriter(ApiClient& client) : client_(client) {}

  // The slices of the watch, with what was written after its newest change. Without the latter a slice that
  // was just made would be made again.
  ObjectWatch::Objects known(const ObjectWatch::View& view, Steady::time_point now);
  // When all of them may be written. A new generation is written as fast as the API server takes it, because
  // until it is whole nothing is allocated from it; the next one waits for a second for each of its slices.
  Steady::time_point due(const std::vector<SliceChange>& changes) const;
  // Ends with the first that fails: 409 or 404 if somebody else was faster.
  Result<> write(const std::vector<SliceChange>& changes);
  const SliceMemory& memory() const { return memory_; }
  // How many writes have worked.
  size_t written() const { return count_; }

 private:
  struct Written {
    std::shared_ptr<const Json> slice;
    uint64_t version;
    Steady::time_point at;
  };

  Result<> write(const SliceChange& change);

  ApiClient& client_;
  SliceMemory memory_;
  size_t count_ = 0;
  std::map<ObjectName, Written> written_;  // and not seen yet
  std::set<std::string> removed_;          // uids, likewise
  SlicePace pace_;
};

}  // namespace vfrail::kube

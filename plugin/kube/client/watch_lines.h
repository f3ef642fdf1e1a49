// WatchLines: the events of a watch, one JSON text in each line, out of the pieces in which they come. Pure.
#pragma once

#include "common/json.h"
#include "common/result.h"

#include <functional>
#include <string>
#include <string_view>

namespace vfrail::kube {

class WatchLines {
 public:
  // etcd keeps objects of 1.5 MiB by default; as JSON they can be several times as large.
  static constexpr size_t kMaxEventBytes = 16 << 20;
  using Event = std::function<Result<>(std::string_view type, Json&& object)>;

  // Calls `event` for each line that has become whole. Errc::protocol for what is not an event, or too long;
  // an error of `event` is returned and ends the reading.
  Result<> add(std::string_view piece, const Event& event);
  // Whether the end of the stream is in the middle of an event.
  bool is_cut() const { return !rest_.empty(); }

 private:
  std::string rest_;
};

}  // namespace vfrail::kube

#include "cni/in_pod/traffic/write_all.h"

namespace vfrail::pod {

namespace {

struct Writer {
  TrafficEnd* end = nullptr;
  uint32_t under_way = 0;
  bool is_done = false;
  WriteResult result = {};

  void fail(const TrafficFailure& failure) {
    result.failure = failure;
    is_done = true;
  }

  void fill(EndSize size) {
    while (!is_done && under_way < size.depth) {
      if (const auto failure = end->post(size.message_bytes)) return fail(*failure);
      ++under_way;
    }
  }

  // The time is that of the last completion: an end that waits longer for its last one has been slower.
  void drain(uint32_t message_bytes, double since, const TrafficClock& clock) {
    const auto completed = end->poll();
    if (const auto* failure = std::get_if<TrafficFailure>(&completed)) return fail(*failure);
    const uint32_t writes = *std::get_if<uint32_t>(&completed);
    if (writes == 0) return;
    under_way -= writes < under_way ? writes : under_way;
    result.bytes += uint64_t{writes} * message_bytes;
    result.seconds = clock.seconds() - since;
  }
};

}  // namespace

std::vector<WriteResult> write_all(const std::vector<TrafficEnd*>& ends, const WriteRules& rules,
                                   const TrafficClock& clock) {
  std::vector<Writer> writers;
  for (TrafficEnd* end : ends) writers.push_back({end});
  const double begin = clock.seconds();
  bool is_busy = true;
  while (is_busy && !clock.is_stopped()) {
    is_busy = false;
    for (Writer& writer : writers) {
      const double past = clock.seconds() - begin;
      if (past < rules.seconds) writer.fill(rules.size);
      if (!writer.is_done) writer.drain(rules.size.message_bytes, begin, clock);
      if (past >= rules.seconds && writer.under_way == 0) writer.is_done = true;
      if (!writer.is_done && past > rules.seconds + kDrainSeconds) writer.fail({TrafficStage::unfinished, 0});
      is_busy = is_busy || !writer.is_done;
    }
  }
  std::vector<WriteResult> out;
  for (Writer& writer : writers) out.push_back(writer.result);
  return out;
}

}  // namespace vfrail::pod

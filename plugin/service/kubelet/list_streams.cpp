#include "plugin/service/kubelet/list_streams.h"

#include <algorithm>
#include <utility>

namespace vfrail::plugin {

v1beta1::ListAndWatchResponse list_response(const PublishedPool& pool) {
  v1beta1::ListAndWatchResponse out;
  for (const Unit& unit : pool.units()) {
    v1beta1::Device& reported = *out.add_devices();
    reported.set_id(unit.id);
    reported.set_health(unit.fault.empty() ? "Healthy" : "Unhealthy");
    for (const int node : unit.numa_nodes) reported.mutable_topology()->add_nodes()->set_id(node);
  }
  return out;
}

// One stream. gRPC allows one write at a time and one Finish, and none of them after it; `busy_` and
// `finished_` keep to that. The calls into gRPC are made without the lock, because it may call back from
// within.
class ListStreams::Stream : public Reactor {
 public:
  explicit Stream(ListStreams& owner) : owner_(owner) {}

  void send_newest() {
    switch (next()) {
      case Step::none:
        return;
      case Step::write:
        StartWrite(&response_);
        return;
      case Step::finish:
        Finish(status_);
        return;
    }
  }

  void end(grpc::Status status) {
    {
      const std::lock_guard lock(mutex_);
      if (!ending_) status_ = std::move(status);
      ending_ = true;
    }
    send_newest();
  }

  bool reported(uint64_t generation) {
    const std::lock_guard lock(mutex_);
    return ending_ || (sent_ == generation && !busy_);
  }

  void OnWriteDone(bool ok) override {
    {
      const std::lock_guard lock(mutex_);
      busy_ = false;
      v1beta1::ListAndWatchResponse().Swap(&response_);  // a list of a thousand devices is not kept
      if (!ok && !ending_) {
        ending_ = true;
        status_ = grpc::Status::CANCELLED;
      }
    }
    send_newest();
  }

  void OnCancel() override { end(grpc::Status::CANCELLED); }

  // The last callback. Frees the stream, unless wake() is using it.
  void OnDone() override { owner_.remove(this); }

 private:
  enum class Step : uint8_t { none, write, finish };

  // Decides the one thing to do now; the caller does it.
  Step next() {
    const std::lock_guard lock(mutex_);
    if (busy_ || finished_) return Step::none;
    if (ending_) {
      finished_ = true;
      return Step::finish;
    }
    const Published::Snapshot now = owner_.published_.get();
    if (now.generation == sent_) return Step::none;
    sent_ = now.generation;
    response_ = list_response(now.pool);
    busy_ = true;
    return Step::write;
  }

  ListStreams& owner_;
  std::mutex mutex_;
  uint64_t sent_ = 0;
  bool busy_ = false;    // a write is under way
  bool ending_ = false;  // finish as soon as it is done
  bool finished_ = false;
  grpc::Status status_;
  v1beta1::ListAndWatchResponse response_;
};

ListStreams::Reactor* ListStreams::open() {
  auto stream = std::make_shared<Stream>(*this);
  {
    const std::lock_guard lock(mutex_);
    streams_.push_back(stream);
  }
  stream->send_newest();
  return stream.get();  // kept by streams_ until OnDone
}

void ListStreams::wake() {
  for (const auto& stream : all()) stream->send_newest();
}

void ListStreams::finish() {
  for (const auto& stream : all())
    stream->end({grpc::StatusCode::UNAVAILABLE, "the device plugin is stopping"});
}

size_t ListStreams::count() const {
  const std::lock_guard lock(mutex_);
  return streams_.size();
}

bool ListStreams::all_sent() const {
  const auto streams = all();
  const uint64_t generation = published_.get().generation;
  return std::all_of(streams.begin(), streams.end(),
                     [&](const auto& stream) { return stream->reported(generation); });
}

std::vector<std::shared_ptr<ListStreams::Stream>> ListStreams::all() const {
  const std::lock_guard lock(mutex_);
  return streams_;
}

void ListStreams::remove(const Stream* stream) {
  std::shared_ptr<Stream> last;  // freed after the lock
  {
    const std::lock_guard lock(mutex_);
    const auto at =
        std::find_if(streams_.begin(), streams_.end(), [&](const auto& s) { return s.get() == stream; });
    if (at == streams_.end()) return;
    last = std::move(*at);
    streams_.erase(at);
  }
  if (on_end_) on_end_();
}

}  // namespace vfrail::plugin

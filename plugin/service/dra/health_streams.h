// HealthStreams: the open NodeWatchResources streams of one version. Each sends the whole list at once and
// each time that send_all() is called; one that the client drops is removed at once. No thread waits here:
// gRPC calls back.
#pragma once

#include "plugin/service/dra/health_list.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <grpcpp/grpcpp.h>

namespace vfrail::plugin {

// kubelet takes a device for unknown so long after its last report; it is reported every 10 s.
inline constexpr std::chrono::seconds kHealthTimeout{30};

template <class Api>
typename Api::Response to_health_response(const HealthList& list, std::chrono::system_clock::time_point now) {
  typename Api::Response out;
  const int64_t seconds = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
  for (const HealthList::Device& device : list.devices) {
    auto& reported = *out.add_devices();
    reported.mutable_device()->set_pool_name(list.node_pool);
    reported.mutable_device()->set_device_name(device.name);
    reported.set_health(device.fault.empty() ? Api::kHealthy : Api::kUnhealthy);
    reported.set_last_updated_time(seconds);
    reported.set_health_check_timeout_seconds(kHealthTimeout.count());
    reported.set_message(device.fault);
  }
  return out;
}

template <class Api>
class HealthStreams {
 public:
  using Response = typename Api::Response;
  using Reactor = grpc::ServerWriteReactor<Response>;

  // `list` is called on any thread. This outlives the gRPC server that serves the streams.
  explicit HealthStreams(std::function<HealthList()> list) : list_(std::move(list)) {}
  HealthStreams(const HealthStreams&) = delete;
  HealthStreams& operator=(const HealthStreams&) = delete;

  // A new stream, for the gRPC handler to return.
  Reactor* open() {
    auto stream = std::make_shared<Stream>(*this);
    {
      const std::lock_guard lock(mutex_);
      streams_.push_back(stream);
    }
    stream->send();
    return stream.get();  // kept by streams_ until OnDone
  }

  void send_all() {
    for (const auto& stream : all()) stream->send();
  }
  // Ends every stream, because the server is about to stop.
  void finish() {
    for (const auto& stream : all()) stream->end({grpc::StatusCode::UNAVAILABLE, "the plugin is stopping"});
  }
  size_t count() const { return all().size(); }

 private:
  // gRPC allows one write at a time and one Finish, and none of them after it; `busy_` and `finished_` keep
  // to that. The calls into gRPC are made without the lock, because it may call back from within.
  class Stream : public Reactor {
   public:
    explicit Stream(HealthStreams& owner) : owner_(owner) {}

    void send() {
      {
        const std::lock_guard lock(mutex_);
        due_ = true;
      }
      go_on();
    }

    void end(grpc::Status status) {
      {
        const std::lock_guard lock(mutex_);
        if (!ending_) status_ = std::move(status);
        ending_ = true;
      }
      go_on();
    }

    void OnWriteDone(bool ok) override {
      {
        const std::lock_guard lock(mutex_);
        busy_ = false;
        Response().Swap(&response_);  // a list of a thousand devices is not kept
      }
      if (!ok) return end(grpc::Status::CANCELLED);
      go_on();
    }

    void OnCancel() override { end(grpc::Status::CANCELLED); }

    // The last callback. Frees the stream, unless send_all() is using it.
    void OnDone() override { owner_.remove(this); }

   private:
    enum class Step : uint8_t { none, write, finish };

    void go_on() {
      switch (next()) {
        case Step::none:
          return;
        case Step::write:
          this->StartWrite(&response_);
          return;
        case Step::finish:
          this->Finish(status_);
          return;
      }
    }

    Step next() {
      const std::lock_guard lock(mutex_);
      if (busy_ || finished_) return Step::none;
      if (ending_) {
        finished_ = true;
        return Step::finish;
      }
      if (!due_) return Step::none;
      due_ = false;
      busy_ = true;
      response_ = to_health_response<Api>(owner_.list_(), std::chrono::system_clock::now());
      return Step::write;
    }

    HealthStreams& owner_;
    std::mutex mutex_;
    bool due_ = false;     // there is something to send
    bool busy_ = false;    // a write is under way
    bool ending_ = false;  // finish as soon as it is done
    bool finished_ = false;
    grpc::Status status_;
    Response response_;
  };

  std::vector<std::shared_ptr<Stream>> all() const {
    const std::lock_guard lock(mutex_);
    return streams_;
  }

  void remove(const Stream* stream) {
    std::shared_ptr<Stream> last;  // freed after the lock
    const std::lock_guard lock(mutex_);
    const auto at =
        std::find_if(streams_.begin(), streams_.end(), [&](const auto& s) { return s.get() == stream; });
    if (at == streams_.end()) return;
    last = std::move(*at);
    streams_.erase(at);
  }

  const std::function<HealthList()> list_;
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<Stream>> streams_;
};

}  // namespace vfrail::plugin

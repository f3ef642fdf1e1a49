// ListStreams: the open ListAndWatch streams of one resource. Each sends the published list at once and after
// every change; a stream that the client drops is removed at once. No thread waits here: gRPC calls back.
#pragma once

#include "plugin/service/kubelet/published.h"
#include "proto/deviceplugin_v1beta1.grpc.pb.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <grpcpp/grpcpp.h>

namespace vfrail::plugin {

// What is advertised of a pool: its units.
v1beta1::ListAndWatchResponse list_response(const PublishedPool& pool);

class ListStreams {
 public:
  using Reactor = grpc::ServerWriteReactor<v1beta1::ListAndWatchResponse>;

  // `published` outlives this; this outlives the gRPC server that serves the streams. `on_end` is called on a
  // gRPC thread each time that a stream has ended.
  explicit ListStreams(const Published& published, std::function<void()> on_end = {})
      : published_(published), on_end_(std::move(on_end)) {}
  ListStreams(const ListStreams&) = delete;
  ListStreams& operator=(const ListStreams&) = delete;

  // A new stream, for the gRPC handler to return.
  Reactor* open();
  // Sends the list on the streams that have not got this generation yet.
  void wake();
  // Ends every stream, because the server is about to stop.
  void finish();
  size_t count() const;
  // Whether every stream has sent what is published now.
  bool all_sent() const;

 private:
  class Stream;

  std::vector<std::shared_ptr<Stream>> all() const;
  void remove(const Stream* stream);

  const Published& published_;
  const std::function<void()> on_end_;
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<Stream>> streams_;
};

}  // namespace vfrail::plugin

// TlsStream: a TLS connection to the API server, verified, with a deadline for every wait and an end at a
// request to stop. Of Boost, so only connection.cpp and pod_exec.cpp include it. Belongs to one thread.
#pragma once

#include "common/result.h"
#include "plugin/kube/client/connection.h"

#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <chrono>
#include <memory>
#include <stop_token>
#include <string>

namespace vfrail::kube {

class TlsStream {
 public:
  using Layers = boost::asio::ssl::stream<boost::beast::tcp_stream>;
  using ErrorCode = boost::system::error_code;

  // As Connection::open().
  static Result<std::unique_ptr<TlsStream>> connect(const Peer& peer, const TlsMaterial& tls,
                                                    std::chrono::milliseconds time, std::stop_token stop);
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;

  // What is above this stream, a WebSocket say, refers to it.
  Layers& layers() { return layers_; }
  // "10.0.0.1:6443".
  const std::string& title() const { return title_; }

  // Starts an operation, which gets a callback for its end, and runs until that is called. The thread that
  // asks for a stop has the connection closed by this one.
  template <class Start>
  ErrorCode run(std::chrono::milliseconds time, Start start) {
    ErrorCode result = boost::asio::error::would_block;
    if (stop_.stop_requested()) return boost::asio::error::operation_aborted;
    boost::beast::get_lowest_layer(layers_).expires_after(time);
    start([&result](ErrorCode failed) { result = failed; });
    const std::stop_callback end(stop_, [this] {
      boost::asio::post(io_, [this] { boost::beast::get_lowest_layer(layers_).close(); });
    });
    io_.restart();
    io_.run();
    return result;
  }
  // Whether the server has sent something that nobody has read. Between two answers that is the end of the
  // connection.
  bool has_input();
  // "WHAT 10.0.0.1:6443: no answer in time".
  Error failure(ErrorCode failed, const char* what) const;

 private:
  using Context = boost::asio::ssl::context;
  TlsStream(std::shared_ptr<Context> context, std::stop_token stop)
      : context_(std::move(context)), layers_(io_, *context_), stop_(std::move(stop)) {}
  Result<> shake_hands(const Peer& peer, std::chrono::milliseconds time);
  Result<> prepare_tls(const Peer& peer);
  Error tls_failure(ErrorCode failed);

  boost::asio::io_context io_{1};
  std::shared_ptr<Context> context_;
  Layers layers_;
  const std::stop_token stop_;
  std::string title_;
};

}  // namespace vfrail::kube

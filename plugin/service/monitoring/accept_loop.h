// AcceptLoop: accepts one connection after the other, with a pause after a failure. Beginning either can
// throw (bad_alloc); then neither is under way, and its owner begins again. Knows nothing of a connection.
// Belongs to the thread that runs the operations.
#pragma once

#include <boost/asio/error.hpp>
#include <boost/system/error_code.hpp>
#include <chrono>
#include <functional>
#include <utility>

namespace vfrail::plugin {

// An acceptor and a timer of Boost.Asio, which outlive it.
template <class Acceptor, class Timer, class Socket>
class AcceptLoop {
 public:
  // `serve` may throw; the connection is lost then.
  AcceptLoop(Acceptor& acceptor, Timer& timer, std::function<void(Socket)> serve)
      : acceptor_(acceptor), timer_(timer), serve_(std::move(serve)) {}

  bool is_under_way() const { return under_way_; }

  void accept() {
    acceptor_.async_accept([this](boost::system::error_code failed, Socket socket) {
      under_way_ = false;
      if (failed == boost::asio::error::operation_aborted) return;
      if (failed) return accept_later();  // no file descriptors, say
      serve_(std::move(socket));
      accept();
    });
    under_way_ = true;
  }

  void accept_later() {
    timer_.expires_after(kPause);
    timer_.async_wait([this](boost::system::error_code failed) {
      under_way_ = false;
      if (!failed) accept();
    });
    under_way_ = true;
  }

 private:
  static constexpr std::chrono::seconds kPause{1};

  Acceptor& acceptor_;
  Timer& timer_;
  const std::function<void(Socket)> serve_;
  bool under_way_ = false;
};

}  // namespace vfrail::plugin

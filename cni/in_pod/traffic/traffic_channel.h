// TrafficChannel: lines over a TCP connection between the two programs of a test, each with a deadline and a
// longest length. Knows nothing of what the lines mean.
#pragma once

#include "cni/in_pod/traffic/write_all.h"
#include "common/ip_address.h"
#include "common/result.h"
#include "common/unique_fd.h"

#include <cstdint>
#include <optional>
#include <string>

namespace vfrail::pod {

class TrafficChannel {
 public:
  // A stream socket that does not block. The clock must outlive the channel.
  TrafficChannel(UniqueFd socket, const TrafficClock& clock) : socket_(std::move(socket)), clock_(&clock) {}

  // Without its end. Errc::timeout; Errc::peer if the peer has closed the connection; Errc::protocol if the
  // line is too long.
  Result<std::string> read_line(double seconds);
  // Without waiting; no value: the whole line has not come yet.
  Result<std::optional<std::string>> take_line();
  Result<> write(const std::string& line, double seconds);
  int descriptor() const { return socket_.get(); }  // for poll()

 private:
  UniqueFd socket_;
  const TrafficClock* clock_;
  std::string read_;  // what has come behind the last line
};

struct TrafficAddress {
  IpAddress address;
  uint16_t port = 0;
  std::string text() const;  // "10.244.1.7 port 18517"
};

// The error names what to check: address, port, NetworkPolicy.
Result<TrafficChannel> connect_to_listener(const TrafficAddress& listener, double seconds,
                                           const TrafficClock& clock);

class TrafficListener {
 public:
  // Without an address: on all of this pod's.
  static Result<TrafficListener> open(const std::optional<IpAddress>& address, uint16_t port);

  struct Accepted {
    TrafficChannel channel;
    std::string peer;  // "10.244.1.7"
  };
  // Without waiting; no value: nobody has connected.
  Result<std::optional<Accepted>> accept(const TrafficClock& clock);
  int descriptor() const { return socket_.get(); }  // for poll()

 private:
  explicit TrafficListener(UniqueFd socket) : socket_(std::move(socket)) {}
  UniqueFd socket_;
};

}  // namespace vfrail::pod

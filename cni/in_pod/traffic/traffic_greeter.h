// TrafficGreeter: who has connected to a listener, until one of them is the caller of its test. All are
// waited for at the same time, so one that is silent holds up nobody. Knows nothing of the test itself.
#pragma once

#include "cni/in_pod/traffic/traffic_session.h"

#include <functional>
#include <string>
#include <vector>

namespace vfrail::pod {

class TrafficGreeter {
 public:
  // `say` gets a line for each that was refused. The side must outlive the greeter.
  TrafficGreeter(TrafficListener listener, const TrafficSide& side,
                 std::function<void(const std::string&)> say)
      : listener_(std::move(listener)), side_(side), say_(std::move(say)) {}

  struct Caller {
    TrafficChannel channel;
    std::string peer;  // "10.244.1.7"
    TrafficSize size;
  };
  // The first with the right hello, which has been answered. Errc::timeout: none by then, by the side's
  // clock.
  Result<Caller> next(double until);

 private:
  struct Waiting {
    TrafficListener::Accepted who;
    double until;
  };

  Result<> wait_for_any(double seconds) const;
  Result<> accept_all();

  TrafficListener listener_;
  const TrafficSide& side_;
  std::function<void(const std::string&)> say_;
  std::vector<Waiting> waiting_;  // in the order in which they have connected
};

}  // namespace vfrail::pod

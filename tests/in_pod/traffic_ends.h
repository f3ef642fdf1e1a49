// TrafficDevices whose ends complete every write at once, or fail where a test says.
#pragma once

#include "cni/in_pod/traffic/traffic_end.h"

#include <map>
#include <memory>
#include <string>

namespace vfrail::test {

class FakeDevices : public TrafficDevices {
 public:
  // By the name of the rail: the call that fails.
  std::map<std::string, TrafficFailure> failures;
  // Rails whose writes never complete.
  std::string silent;
  unsigned opened = 0;
  unsigned open_now = 0;

  OpenedEnd open(const TrafficRail& rail, EndSize size) override;

 private:
  class End;
};

}  // namespace vfrail::test

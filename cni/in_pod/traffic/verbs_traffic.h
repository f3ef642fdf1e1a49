// The ends of queue pairs as libibverbs has them: reliable connections, RDMA writes. Owns what it opens.
#pragma once

#include "cni/in_pod/traffic/traffic_end.h"

namespace vfrail::pod {

class VerbsTraffic : public TrafficDevices {
 public:
  OpenedEnd open(const TrafficRail& rail, EndSize size) override;
};

}  // namespace vfrail::pod

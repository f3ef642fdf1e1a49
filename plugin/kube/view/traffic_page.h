// What a node's page of metrics says about the traffic of its devices: their counters, and why some have
// none. Pure: the caller says when the page was read.
#pragma once

#include "common/result.h"
#include "common/traffic/traffic.h"

#include <string>
#include <string_view>
#include <vector>

namespace vfrail::kube {

struct TrafficPage {
  Reading reading;
  std::vector<std::string> missing;  // what it has no counters of, and why: sentences for people
};

// Lines about anything else are skipped. Errc::protocol: it is not a page of vfrail's metrics.
Result<TrafficPage> read_traffic_page(std::string_view text, std::chrono::steady_clock::time_point time);

}  // namespace vfrail::kube

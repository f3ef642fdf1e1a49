// A pause that a request to stop ends.
#pragma once

#include <chrono>
#include <stop_token>

namespace vfrail::kube {

// False: it was ended by a request to stop.
bool pause_for(std::chrono::milliseconds time, const std::stop_token& stop);

}  // namespace vfrail::kube

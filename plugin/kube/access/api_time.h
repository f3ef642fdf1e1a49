// Times as the Kubernetes API writes them (RFC 3339, in UTC). Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace vfrail::kube {

using ApiTime = std::chrono::system_clock::time_point;

// "2026-11-27T01:30:00Z" (metav1.Time), "2026-11-27T01:30:00.123456Z" (MicroTime).
std::string api_time(ApiTime time);
std::string api_micro_time(ApiTime time);
// Either, and with an offset such as +01:00.
std::optional<ApiTime> parse_api_time(std::string_view text);

}  // namespace vfrail::kube

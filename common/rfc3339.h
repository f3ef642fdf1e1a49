// Times as RFC 3339 writes them, in UTC: "2026-11-27T01:30:00Z". Pure.
#pragma once

#include <chrono>
#include <string>

namespace vfrail {

// Not with gmtime_r() and strftime(): they read the time zone's file for UTC, too.
std::string rfc3339(std::chrono::system_clock::time_point time);

}  // namespace vfrail

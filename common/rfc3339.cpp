#include "common/rfc3339.h"

#include <cstdio>

namespace vfrail {

std::string rfc3339(std::chrono::system_clock::time_point time) {
  using std::chrono::floor;
  const auto seconds = floor<std::chrono::seconds>(time);
  const auto midnight = floor<std::chrono::days>(seconds);
  const std::chrono::year_month_day date(midnight);
  const std::chrono::hh_mm_ss clock(seconds - midnight);
  char out[48];
  std::snprintf(out, sizeof out, "%04d-%02u-%02uT%02d:%02d:%02dZ", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
                static_cast<int>(clock.seconds().count()));
  return out;
}

}  // namespace vfrail

#include "plugin/kube/access/api_time.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <ctime>

namespace vfrail::kube {

namespace {

// What the clock's nanoseconds can count ends in 2262, and begins in 1677. No object is older than the API.
constexpr int kFirstYear = 1970;
constexpr int kLastYear = 2261;

std::tm broken_down(ApiTime time) {
  const std::time_t seconds =
      std::chrono::system_clock::to_time_t(std::chrono::floor<std::chrono::seconds>(time));
  std::tm out{};
  ::gmtime_r(&seconds, &out);
  return out;
}

// Two digits at `at`; -1: something else.
int two_digits(std::string_view text, size_t at) {
  if (at + 2 > text.size() || std::isdigit(static_cast<unsigned char>(text[at])) == 0 ||
      std::isdigit(static_cast<unsigned char>(text[at + 1])) == 0)
    return -1;
  return (text[at] - '0') * 10 + (text[at + 1] - '0');
}

std::optional<std::chrono::seconds> read_offset(std::string_view text) {
  if (text == "Z" || text == "z") return std::chrono::seconds(0);
  if (text.size() != 6 || (text[0] != '+' && text[0] != '-') || text[3] != ':') return std::nullopt;
  const int hours = two_digits(text, 1);
  const int minutes = two_digits(text, 4);
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return std::nullopt;
  const auto out = std::chrono::hours(hours) + std::chrono::minutes(minutes);
  return text[0] == '+' ? -out : out;
}

}  // namespace

std::string api_time(ApiTime time) {
  const std::tm parts = broken_down(time);
  char text[40] = {};
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::string api_micro_time(ApiTime time) {
  const auto whole = std::chrono::floor<std::chrono::seconds>(time);
  const auto micro = std::chrono::duration_cast<std::chrono::microseconds>(time - whole).count();
  std::string out = api_time(time);
  char part[16] = {};
  std::snprintf(part, sizeof part, ".%06dZ", static_cast<int>(micro));
  out.replace(out.size() - 1, 1, part);
  return out;
}

std::optional<ApiTime> parse_api_time(std::string_view text) {
  if (text.size() < 20 || text[4] != '-' || text[7] != '-' || (text[10] != 'T' && text[10] != 't') ||
      text[13] != ':' || text[16] != ':')
    return std::nullopt;
  const int century = two_digits(text, 0);
  const int year = two_digits(text, 2);
  const int parts[] = {two_digits(text, 5), two_digits(text, 8), two_digits(text, 11), two_digits(text, 14),
                       two_digits(text, 17)};
  static constexpr int kMost[] = {12, 31, 23, 59, 60};
  for (size_t i = 0; i < 5; ++i) {
    if (parts[i] < 0 || parts[i] > kMost[i]) return std::nullopt;
  }
  if (century < 0 || year < 0 || parts[0] == 0 || parts[1] == 0) return std::nullopt;
  size_t at = 19;
  std::chrono::microseconds fraction{0};
  if (text[at] == '.') {
    std::chrono::microseconds unit{100'000};
    for (++at; at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])) != 0; ++at, unit /= 10)
      fraction += unit * (text[at] - '0');
  }
  const auto offset = read_offset(text.substr(at));
  if (!offset) return std::nullopt;
  if (century * 100 + year < kFirstYear) return ApiTime();  // long ago: "0001-01-01T00:00:00Z" is Go's zero
  // As good as never.
  if (century * 100 + year > kLastYear) return ApiTime::max() - std::chrono::hours(24);
  std::tm broken{};
  broken.tm_year = century * 100 + year - 1900;
  broken.tm_mon = parts[0] - 1;
  broken.tm_mday = parts[1];
  broken.tm_hour = parts[2];
  broken.tm_min = parts[3];
  broken.tm_sec = parts[4];
  return std::chrono::system_clock::from_time_t(::timegm(&broken)) + *offset + fraction;
}

}  // namespace vfrail::kube

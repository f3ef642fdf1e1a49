// What the two programs of a test say to each other: lines of JSON over TCP, each at most kMaxTrafficLine.
// The caller sends hello, then orders; the listener answers each. Pure. Nothing of a peer is believed:
// numbers have ranges, names are short, lists have ends, and unknown words are errors.
#pragma once

#include "cni/in_pod/traffic/traffic_end.h"
#include "cni/in_pod/traffic/write_all.h"
#include "common/result.h"

#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace vfrail::pod {

inline constexpr int64_t kTrafficVersion = 1;
inline constexpr size_t kMaxTrafficLine = 32768;
inline constexpr size_t kMaxTrafficRails = 64;
inline constexpr uint32_t kMinMessage = 65536;
inline constexpr uint32_t kMaxMessage = 8 << 20;
inline constexpr int64_t kMaxSeconds = 60;  // of a rail
inline constexpr size_t kMaxTestName = 63;  // that of a Job is no longer

struct OfferedRail {
  std::string name;
  double rate_gbits = 0;
  bool operator==(const OfferedRail&) const = default;
};

struct TrafficHello {
  uint32_t message_bytes = kMinMessage;
  int64_t seconds = 1;
  std::vector<OfferedRail> rails;
  std::string test = {};  // its name; empty: none, as in versions that do not know of names
  bool operator==(const TrafficHello&) const = default;
};

// By the number of the rail: what was opened, or why not.
using EndOrFailure = std::variant<EndAddress, TrafficFailure>;
using OfferedEnds = std::map<uint32_t, EndOrFailure>;
using WriteResults = std::map<uint32_t, WriteResult>;

struct OpenOrder {
  OfferedEnds ends;  // the caller's
};
struct WriteOrder {
  std::vector<uint32_t> rails;  // on which the listener writes
  bool round_trips = false;     // measured first, if it is one rail; earlier versions know no such order
};
struct EndOrder {};
using TrafficOrder = std::variant<OpenOrder, WriteOrder, EndOrder>;

// Letters, digits, '-', '_' and '.', as Kubernetes has them in names; none is a name too.
bool is_test_name(std::string_view text);

// Each with its line end.
std::string format_hello(const TrafficHello& hello);
std::string format_order(const TrafficOrder& order);
std::string format_ends(const OfferedEnds& ends);
std::string format_results(const WriteResults& results);
std::string format_refusal(const std::string& text);

// Errc::protocol: it is not such a line. Errc::peer: it is a refusal, with the peer's text.
Result<TrafficHello> parse_hello(std::string_view line);
Result<TrafficOrder> parse_order(std::string_view line);
Result<OfferedEnds> parse_ends(std::string_view line);
Result<WriteResults> parse_results(std::string_view line);

}  // namespace vfrail::pod

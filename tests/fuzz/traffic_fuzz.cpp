// Target: one line of the peer of `vfrail-check --to`, or of a caller of `--listen`, which anybody in the
// network can be; and pod.json, which is read as JSON as well.
#include "cni/in_pod/facts/pod_description.h"
#include "cni/in_pod/traffic/traffic_message.h"
#include "tests/fuzz/checks.h"

#include <cmath>

using namespace vfrail;
using namespace vfrail::cni;
using namespace vfrail::pod;
using namespace vfrail::fuzz;

namespace {

// vfrail-check prints errors as a line, and not as CNI does (check_error).
void check_refusal(const Error& error) { MUST(!error.text.empty() && error.text.size() < 2048); }

bool is_finite(double number) { return std::isfinite(number) && number >= 0; }

void check_hello(std::string_view line) {
  const auto hello = parse_hello(line);
  if (!hello) return check_refusal(hello.error());
  MUST(hello->message_bytes >= kMinMessage && hello->message_bytes <= kMaxMessage);
  MUST(hello->seconds >= 1 && hello->seconds <= kMaxSeconds);
  MUST(hello->rails.size() <= kMaxTrafficRails);
  for (const OfferedRail& rail : hello->rails)
    MUST(!rail.name.empty() && rail.name.size() <= 64 && is_finite(rail.rate_gbits));
  MUST(is_test_name(hello->test));
  const auto again = parse_hello(format_hello(*hello));
  MUST(again && *again == *hello);
}

void check_ends(const OfferedEnds& ends) {
  for (const auto& [number, end] : ends) {
    MUST(number < kMaxTrafficRails);
    const auto* address = std::get_if<EndAddress>(&end);
    if (address == nullptr) continue;
    MUST(address->queue_pair <= 0xffffff && address->lid <= 0xffff);
    MUST(address->mtu >= 256 && address->mtu <= 4096);
  }
  const std::string line = format_ends(ends);
  MUST(line.size() <= kMaxTrafficLine);
  const auto again = parse_ends(line);
  MUST(again && *again == ends);
}

void check_order(std::string_view line) {
  const auto order = parse_order(line);
  if (!order) return check_refusal(order.error());
  if (const auto* open = std::get_if<OpenOrder>(&*order)) check_ends(open->ends);
  const std::string printed = format_order(*order);
  MUST(printed.size() <= kMaxTrafficLine);
  const auto again = parse_order(printed);
  MUST(again && format_order(*again) == printed);
  const auto* write = std::get_if<WriteOrder>(&*order);
  if (write == nullptr) return;
  MUST(write->rails.size() <= kMaxTrafficRails);
  for (size_t i = 1; i < write->rails.size(); ++i) MUST(write->rails[i - 1] < write->rails[i]);
}

void check_results(std::string_view line) {
  const auto results = parse_results(line);
  if (!results) return check_refusal(results.error());
  for (const auto& [number, result] : *results)
    MUST(number < kMaxTrafficRails && is_finite(result.seconds) && is_finite(result.gbits()));
  const std::string printed = format_results(*results);
  MUST(printed.size() <= kMaxTrafficLine);
  const auto again = parse_results(printed);
  MUST(again && *again == *results);
}

void check_description(std::string_view text) {
  const auto pod = parse_pod_description(text);
  if (!pod) return check_refusal(pod.error());
  for (const DescribedInterface& interface : pod->interfaces) {
    for (const IpAddress& address : interface.addresses) MUST(is_sound(address));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view line = text_of(data, size);
  // A new input is one line or the file: each reader parses it as JSON anew.
  const auto is_turn = [&](size_t reader) { return is_due(size % 5 == reader); };
  if (is_turn(0)) check_hello(line);
  if (is_turn(1)) check_order(line);
  if (is_turn(2)) check_results(line);
  if (is_turn(3)) {
    const auto ends = parse_ends(line);
    if (!ends) check_refusal(ends.error());
    if (ends) check_ends(*ends);
  }
  if (is_turn(4)) check_description(line);
  return 0;
}

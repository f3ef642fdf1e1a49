// What CHECK compares of the settings that PodSettings has.
#include "cni/steps.h"

namespace vfrail {

namespace {

std::string on_or_off(bool on) { return on ? "on" : "off"; }

void compare_flag(const std::string& what, std::optional<bool> wanted, bool have,
                  std::vector<std::string>& out) {
  if (wanted.value_or(have) == have) return;
  out.push_back(what + " is " + on_or_off(have) + ", wanted is " + on_or_off(*wanted));
}

}  // namespace

Result<std::vector<std::string>> pod_differences(const PodSettings& wanted, const Link& link) {
  std::vector<std::string> out;
  compare_flag(link.name + ": promisc", wanted.promisc, link.promisc_set(), out);
  compare_flag(link.name + ": allmulti", wanted.allmulti, link.allmulti_set(), out);
  if (wanted.tx_queue_len.value_or(link.tx_queue_len) != link.tx_queue_len) {
    out.push_back(link.name + " has txQLen " + std::to_string(link.tx_queue_len) + ", wanted is " +
                  std::to_string(*wanted.tx_queue_len));
  }
  return out;
}

}  // namespace vfrail

#include "common/node/uplink.h"

#include <algorithm>
#include <cctype>

namespace vfrail {

namespace {

// "p0": how drivers name the port itself; representors are "pf0vf1", "pf0sf4", "c1pf0vf1".
bool port_of_uplink(const std::string& port) {
  return port.size() >= 2 && port[0] == 'p' &&
         std::all_of(port.begin() + 1, port.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

}  // namespace

Result<std::string> choose_uplink(const SysRoot& sys, const std::vector<std::string>& netdevs) {
  if (netdevs.empty()) return std::string();
  if (netdevs.size() == 1) return netdevs.front();  // nothing to choose, so nothing more to read
  std::string unmarked;
  for (const std::string& name : netdevs) {
    // Both files answer EOPNOTSUPP where the driver has no such notion.
    const std::string base = "sys/class/net/" + name + "/";
    const std::string port = TRY(sys.text(base + "phys_port_name"), "").value_or("");
    const std::string switch_id = TRY(sys.text(base + "phys_switch_id"), "").value_or("");
    if (!switch_id.empty() && port_of_uplink(port)) return name;
    if (unmarked.empty() && (port.empty() || port_of_uplink(port))) unmarked = name;
  }
  return unmarked.empty() ? netdevs.front() : unmarked;
}

}  // namespace vfrail

#include "plugin/lag_facts.h"

#include "common/text.h"

namespace vfrail {

std::vector<Lag> read_lags(const SysRoot& sys) {
  std::vector<Lag> out;
  for (const std::string& name : sys.list("sys/class/net")) {
    const std::string folder = "sys/class/net/" + name + "/bonding/";
    const auto mode = sys.text_or_none(folder + "mode");
    if (!mode) continue;
    Lag lag;
    lag.name = name;
    lag.mode = mode->substr(0, mode->find(' '));  // "802.3ad 4"
    lag.members = split(sys.text_or_none(folder + "slaves").value_or(""), " ");
    out.push_back(std::move(lag));
  }
  return out;
}

}  // namespace vfrail

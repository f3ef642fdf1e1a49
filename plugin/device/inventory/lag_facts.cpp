#include "plugin/device/inventory/lag_facts.h"

#include "common/text.h"

namespace vfrail::plugin {

Result<std::vector<Lag>> read_lags(const SysRoot& sys) {
  std::vector<Lag> out;
  for (const std::string& name : TRY(sys.list("sys/class/net")).value_or(SysRoot::Names())) {
    const std::string folder = "sys/class/net/" + name + "/bonding/";
    const auto mode = TRY(sys.text(folder + "mode"));
    if (!mode) continue;
    Lag lag;
    lag.name = name;
    lag.mode = mode->substr(0, mode->find(' '));  // "802.3ad 4"
    lag.members = split(TRY(sys.text(folder + "slaves")).value_or(""), " ");
    out.push_back(std::move(lag));
  }
  return out;
}

}  // namespace vfrail::plugin

// network-operator's NicClusterPolicy and NicNodePolicy, which hold the device plugins' configurations as
// texts.
#include "plugin/documents/config_parts.h"

namespace vfrail::plugin {

Result<> add_nic_policy(const Document& document, FoundConfig& out) {
  const size_t before = out.parts.size();
  for (const char* plugin : {"sriovDevicePlugin", "rdmaSharedDevicePlugin"}) {
    const std::string place = std::string("spec.") + plugin + ".config";
    const Json* text = find_below(document.value, place);
    if (text == nullptr || text->is_null()) continue;
    const std::string where = document.where + ": " + place;
    auto value = TRY(read_embedded(document, *text, ""), where);
    out.parts.push_back({where, std::move(value)});
    out.notes.push_back(document.where + ": the configuration is " + place + in_line(text->line()));
  }
  if (out.parts.size() == before)
    out.notes.push_back(document.where +
                        ": neither spec.sriovDevicePlugin.config nor spec.rdmaSharedDevicePlugin.config is "
                        "there: nothing of it is a configuration");
  return {};
}

}  // namespace vfrail::plugin

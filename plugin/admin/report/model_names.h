// The names of network functions' models that the program itself knows, for nodes whose list of PCI ids is
// not there or not readable, as in the DaemonSet's container. Pure.
#pragma once

#include <string_view>

namespace vfrail::plugin {

// In the format of pci.ids: vendors, with their devices below.
std::string_view known_model_names();

}  // namespace vfrail::plugin

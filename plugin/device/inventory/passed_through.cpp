#include "plugin/device/inventory/passed_through.h"

#include <algorithm>
#include <string_view>

namespace vfrail::plugin {

namespace {

struct Model {
  std::string_view vendor;
  std::string_view device;
};

// As the drivers' tables and pci.ids have them.
constexpr Model kOfVirtualMachines[] = {
    {"15b3", "1004"}, {"15b3", "1014"}, {"15b3", "1016"}, {"15b3", "1018"},  // ConnectX-3, -4, -4 Lx, -5
    {"15b3", "101a"}, {"15b3", "101c"}, {"15b3", "101e"},  // -5 Ex, -6, then all later ones and BlueField
    {"8086", "10ca"}, {"8086", "10ed"}, {"8086", "1515"}, {"8086", "1520"},  // igbvf, ixgbevf
    {"8086", "1565"}, {"8086", "154c"}, {"8086", "37cd"}, {"8086", "1889"},  // iavf
    {"14e4", "16dc"}, {"14e4", "1806"}, {"1077", "1664"},                    // bnxt_en, qede
    {"1414", "00ba"},                                                        // Azure: MANA
    {"1d0f", "ec20"}, {"1d0f", "ec21"},                                      // AWS: ENA
    {"1d0f", "efa0"}, {"1d0f", "efa1"}, {"1d0f", "efa2"}, {"1d0f", "efa3"},  // AWS: EFA
    {"1ded", "107f"},                                                        // Alibaba: eRDMA
};

constexpr Model kRdmaAdapters[] = {{"1ded", "107f"}};

}  // namespace

bool is_rdma_adapter(const Device& device) {
  return std::any_of(std::begin(kRdmaAdapters), std::end(kRdmaAdapters), [&](const Model& model) {
    return model.vendor == device.vendor && model.device == device.device;
  });
}

bool makes_rdma_adapters(std::string_view vendor) {
  return std::any_of(std::begin(kRdmaAdapters), std::end(kRdmaAdapters),
                     [&](const Model& model) { return model.vendor == vendor; });
}

bool is_passed_through(const Device& device) {
  if (device.pf || device.total_vfs > 0) return false;
  return std::any_of(std::begin(kOfVirtualMachines), std::end(kOfVirtualMachines), [&](const Model& model) {
    return model.vendor == device.vendor && model.device == device.device;
  });
}

}  // namespace vfrail::plugin

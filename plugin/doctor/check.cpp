#include "plugin/doctor/check.h"

#include "common/text.h"

#include <algorithm>

namespace vfrail {

std::string describe(const PciFunction& function) {
  // Of a PF in switchdev mode the others are its VFs' representors.
  std::vector<std::string> names = function.netdev_names();
  names.resize(std::min<size_t>(names.size(), 1));
  for (const std::string& name : function.rdma_names()) names.push_back(name);
  const std::string id = function.id.text();
  return names.empty() ? id : id + " (" + joined(names) + ")";
}

bool has_rdma(const Inventory& inventory) {
  return std::any_of(inventory.functions.begin(), inventory.functions.end(),
                     [](const PciFunction& function) { return function.rdma_capable; });
}

}  // namespace vfrail

#include "plugin/documents/vf_devices.h"

#include <algorithm>
#include <vector>

namespace vfrail::plugin {

namespace {

struct Family {
  std::string_view vf;
  std::vector<std::string_view> pfs;
};

// PCI devices as their drivers' tables and pci.ids have them, of the models that sriov-network-operator
// supports.
const std::vector<Family>& families() {
  static const std::vector<Family> kFamilies = {
      {"1014", {"1013"}},  // ConnectX-4, -4 Lx, -5, -5 Ex, -6; then -6 Dx and later, BlueField-2 and -3
      {"1016", {"1015"}},
      {"1018", {"1017"}},
      {"101a", {"1019"}},
      {"101c", {"101b"}},
      {"101e", {"101d", "101f", "1021", "1023", "1025", "a2d6", "a2dc"}},
      {"10ca", {"10c9"}},  // Intel 82576, X550, X710 and XL710, E800
      {"1565", {"1563"}},
      {"154c", {"0d58", "1572", "1581", "1583", "1589", "158a", "158b", "15ff"}},
      {"1889",
       {"1249", "124a", "124c", "124d", "12d2", "12d3", "1591", "1592", "1593", "1599", "159b", "188a",
        "579c", "579d", "579e"}},
      {"16dc", {"16d7"}},  // Broadcom BCM57414, BCM75508
      {"1806", {"1750"}},
      {"1664", {"1654"}},  // QLogic QL45000
      {"1000", {"1000"}},  // virtio and Amazon's adapter are their own VFs
      {"1041", {"1041"}},
      {"ec20", {"ec20"}},
      {"b103", {"b100"}},  // Marvell OCTEON
      {"b203", {"b200"}},
      {"b603", {"b600"}},
      {"b903", {"b900"}},
      {"ba03", {"ba00"}},
  };
  return kFamilies;
}

}  // namespace

std::string vf_device_of(std::string_view pf_device) {
  for (const Family& family : families()) {
    if (std::find(family.pfs.begin(), family.pfs.end(), pf_device) != family.pfs.end())
      return std::string(family.vf);
  }
  return {};
}

}  // namespace vfrail::plugin

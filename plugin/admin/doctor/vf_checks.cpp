// VFs: whether those that are wanted are there, and have a driver.
#include "common/node/device_folder.h"
#include "common/text.h"
#include "plugin/admin/doctor/check.h"
#include "plugin/device/match/pools.h"

#include <algorithm>
#include <map>
#include <set>

namespace vfrail::plugin {

namespace {

using Pfs = std::vector<const DeviceFacts*>;

// Of the node, RDMA-capable. What the host uses is left as it is.
Pfs rdma_pfs(const Inventory& inventory) {
  Pfs out;
  for (const DeviceFacts& function : inventory.functions) {
    const bool pf = function.is_pf() && !function.passed_through;
    if (pf && function.rdma_capable && !function.manages_nvlink && !serves_host(function.host_use))
      out.push_back(&function);
  }
  return out;
}

std::string how_to_enable(const DeviceFacts& pf) {
  const std::string id = pf.id.text();
  if (pf.total_vfs > 0) return "echo N > /sys/bus/pci/devices/" + id + "/sriov_numvfs";
  if (pf.driver.name() == "mlx5_core")
    return "mlxconfig -d " + id + " set SRIOV_EN=1 NUM_OF_VFS=N, and a reboot";
  return "SR-IOV in the card's firmware, by the vendor's tool, and a reboot";
}

std::string say_vfs(const DeviceFacts& pf) {
  return shown_device(pf) + ": " + std::to_string(pf.num_vfs) + " of " + std::to_string(pf.total_vfs);
}

bool has_word(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// The names in "ens785f0#0-3,7"; empty: it has none, and every PF will do.
bool names(const std::vector<std::string>& entries, const std::vector<std::string>& of_pf) {
  return entries.empty() || std::any_of(entries.begin(), entries.end(), [&](const std::string& entry) {
           return has_word(of_pf, entry.substr(0, entry.find('#')));
         });
}

bool is_for_vfs(const Selector& selector) {
  return !selector.list("pfNames").empty() || !selector.list("rootDevices").empty() ||
         !selector.list("vfIndexes").empty() || selector.is_pf == false;
}

bool allows(const Selector& selector, const DeviceFacts& function) {
  const auto has = [&](const char* key, const std::string& value) {
    const auto& values = selector.list(key);
    return values.empty() || value.empty() || has_word(values, value);
  };
  return has("vendors", function.vendor) && has("linkTypes", function.link_type);
}

// Whether the selector is for VFs, and those of this PF would be among them, as far as the PF shows it.
bool wants_vfs_of(const Selector& selector, const DeviceFacts& pf) {
  return is_for_vfs(selector) && names(selector.list("pfNames"), pf.netdev_names()) &&
         names(selector.list("rootDevices"), {pf.address.text()}) && allows(selector, pf);
}

// In a virtual machine VFs are selected as other devices are: nothing there has a PF.
void compare_without_pf(const CheckedNode& node, CheckResults& out) {
  if (node.config == nullptr) return;
  for (const Pool& pool : match(*node.config, node.inventory).pools) {
    if (!pool.devices.empty() || pool.config.device_type != DeviceType::net_device) continue;
    const auto& selectors = pool.config.selectors;
    for (const DeviceFacts& function : node.inventory.functions) {
      const bool meant = function.passed_through && function.rdma_capable &&
                         std::any_of(selectors.begin(), selectors.end(), [&](const Selector& selector) {
                           return is_for_vfs(selector) && allows(selector, function);
                         });
      if (!meant) continue;
      out.push_back({Finding::fault,
                     pool.resource() + " has no device: it selects VFs by their PF, and " +
                         shown_device(function) +
                         " was passed through to this virtual machine, which has no PF",
                     "vendors, devices, pciAddresses or macs in place of pfNames, rootDevices, vfIndexes and "
                     "isPf"});
      break;
    }
  }
}

bool has_device_of(const Pool& pool, const DeviceFacts& pf) {
  return std::any_of(pool.devices.begin(), pool.devices.end(),
                     [&](const PoolDevice& device) { return device.facts.pf == pf.address; });
}

// PFs that a resource wants VFs of and that have none go to `compared`.
void compare_with_config(const CheckedNode& node, const Pfs& pfs, std::set<const DeviceFacts*>& compared,
                         CheckResults& out) {
  if (node.config == nullptr) return;
  for (const Pool& pool : match(*node.config, node.inventory).pools) {
    if (pool.config.device_type != DeviceType::net_device) continue;
    for (const DeviceFacts* pf : pfs) {
      const auto& selectors = pool.config.selectors;
      const bool wanted = std::any_of(selectors.begin(), selectors.end(),
                                      [&](const Selector& selector) { return wants_vfs_of(selector, *pf); });
      if (!wanted || pf->num_vfs > 0 || has_device_of(pool, *pf)) continue;
      compared.insert(pf);
      out.push_back({pool.devices.empty() ? Finding::fault : Finding::advice,
                     pool.resource() + (pool.devices.empty() ? " has no device" : " has none of this PF") +
                         ": it selects VFs, and of " + say_vfs(*pf) + " are enabled",
                     how_to_enable(*pf)});
    }
  }
}

// One card of several is mostly forgotten.
void compare_with_others(const Pfs& pfs, const std::set<const DeviceFacts*>& compared, CheckResults& out) {
  for (const DeviceFacts* pf : pfs) {
    if (pf->num_vfs > 0 || compared.contains(pf)) continue;
    std::vector<std::string> others;
    for (const DeviceFacts* other : pfs) {
      if (other->vendor == pf->vendor && other->device == pf->device && other->num_vfs > 0)
        others.push_back(other->id.text());
    }
    if (!others.empty())
      out.push_back({Finding::advice,
                     "VFs of " + say_vfs(*pf) + ", and others of this model have some: " + first_few(others),
                     how_to_enable(*pf)});
  }
}

Result<CheckResults> check_vfs(const CheckedNode& node) {
  const Pfs pfs = rdma_pfs(node.inventory);
  std::set<const DeviceFacts*> compared;
  CheckResults out;
  compare_with_config(node, pfs, compared, out);
  compare_with_others(pfs, compared, out);
  compare_without_pf(node, out);
  const auto& all = node.inventory.functions;
  if (!out.empty() || std::any_of(all.begin(), all.end(), [](const DeviceFacts& function) {
        return function.rdma_capable && function.num_vfs > 0;
      }))
    return out;
  std::vector<std::string> without;
  for (const DeviceFacts& function : all) {
    if (function.rdma_capable && function.kind == FunctionKind::network && function.total_vfs > 0)
      without.push_back(say_vfs(function));
  }
  if (without.empty()) return out;
  return CheckResults{{Finding::note,
                       "no VF is enabled, so a pod gets a whole PF or shares it: " + joined(without),
                       "for a VF for each pod: echo N > /sys/bus/pci/devices/ADDRESS/sriov_numvfs"}};
}

Result<CheckResults> check_vf_drivers(const CheckedNode& node) {
  std::map<std::string, std::vector<std::string>> unbound;  // by PF
  for (const DeviceFacts& function : node.inventory.functions) {
    if (function.is_vf() && !function.driver.is_bound())
      unbound[function.pf->text()].push_back(function.id.text());
  }
  CheckResults out;
  for (const auto& [pf, vfs] : unbound) {
    const std::string folder = std::string(kPciDevices) + "/" + pf;
    const bool off = TRY(node.sys.text(folder + "/sriov_drivers_autoprobe")) == "0";
    out.push_back({Finding::advice,
                   counted(vfs.size(), "VF") + " of " + pf + (vfs.size() == 1 ? " has" : " have") +
                       " no driver, and cannot be allocated: " + first_few(vfs) +
                       (off ? " (sriov_drivers_autoprobe is 0)" : ""),
                   (off ? "echo 1 > /" + folder + "/sriov_drivers_autoprobe; then " : std::string()) +
                       "echo ADDRESS > /sys/bus/pci/drivers_probe"});
  }
  return out;
}

}  // namespace

const NodeChecks& vf_checks() {
  static const NodeChecks kChecks = {
      {"VF-N06", "vfs", "VFs are enabled where RDMA devices can have them", check_vfs, lacks_ports},
      {"VF-N07", "vf-drivers", "every VF has a driver", check_vf_drivers, lacks_vfs},
  };
  return kChecks;
}

}  // namespace vfrail::plugin

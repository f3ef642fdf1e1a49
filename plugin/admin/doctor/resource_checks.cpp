// What the configuration selects on this node, and whether it fits together.
#include "common/text.h"
#include "plugin/admin/doctor/check.h"
#include "plugin/device/inventory/udev_rules.h"
#include "plugin/device/match/match_result.h"
#include "plugin/device/match/pools.h"
#include "plugin/device/match/selector_match.h"

#include <algorithm>
#include <map>
#include <string_view>

namespace vfrail::plugin {

namespace {

constexpr const char* kNoConfig = "no configuration is here to be checked: name it by --config-file";

// "Ethernet", "InfiniBand", as the kernel names them; empty if it is not known.
std::string link_layer(const DeviceFacts& function) {
  if (function.link_type == "ether") return "Ethernet";
  if (function.link_type == "infiniband") return "InfiniBand";
  if (function.rdma.empty() || function.rdma.front().ports.empty()) return "";
  return function.rdma.front().ports.front().link_layer;
}

using ByLinkLayer = std::map<std::string, std::vector<std::string>>;

bool has_both(const ByLinkLayer& devices) {
  return devices.contains("Ethernet") && devices.contains("InfiniBand");
}

// No setting of a network is for both: a VLAN and a MAC address, or a GUID and a partition.
Result<CheckResults> check_link_layers(const CheckedNode& node) {
  ByLinkLayer all;
  for (const DeviceFacts& function : node.inventory.functions)
    all[link_layer(function)].push_back(function.id.text());
  if (!has_both(all)) return CheckResults();
  if (node.config == nullptr) return CheckResults{{Finding::unknown, kNoConfig}};
  CheckResults out;
  for (const Pool& pool : match(*node.config, node.inventory).pools) {
    ByLinkLayer devices;
    for (const PoolDevice& device : pool.devices) devices[link_layer(device.facts)].push_back(device.id());
    if (!has_both(devices)) continue;
    out.push_back({Finding::advice,
                   pool.resource() + " has devices of Ethernet (" + first_few(devices["Ethernet"]) +
                       ") and of InfiniBand (" + first_few(devices["InfiniBand"]) +
                       "): no network fits both, and the two do not reach each other",
                   "two resources: one with the selector linkTypes [\"ether\"], one with [\"infiniband\"]"});
  }
  return out;
}

// NAME_KERNEL leaves the name, NAME_FIXED is one that the administrator chose; the others make it of the slot
// or the GUID, so it is another one on the next node (rdma-core's kernel-boot/rdma-persistent-naming.rules).
bool differs_between_nodes(const RenameRule& rule) {
  return rule.mode != "NAME_KERNEL" && rule.mode != "NAME_FIXED";
}

// "mlx5_0": a driver's own name, where rdma_rename makes "ibp75s0" or "rocex525400c0fe123455".
bool is_kernel_name(const std::string& name) {
  const size_t digits = name.find_last_not_of("0123456789") + 1;
  return digits >= 2 && digits < name.size() && name[digits - 1] == '_' &&
         name.find("bond") == std::string::npos;
}

bool starts_with_number(std::string_view text) { return !text.empty() && text[0] >= '0' && text[0] <= '9'; }

// "ibp75s0", "roceo1", "iws3", "rocex525400c0fe123455": what rdma_rename makes of the slot or the GUID.
bool is_renamed(std::string_view name) {
  for (const std::string_view kind : {"ib", "roce", "iw", "opa"}) {
    if (!name.starts_with(kind)) continue;
    const std::string_view rest = name.substr(kind.size());
    const size_t slot = rest.find_first_not_of("0123456789", 1);
    if (rest.starts_with('p') && starts_with_number(rest.substr(1)) && slot != std::string_view::npos &&
        rest[slot] == 's' && starts_with_number(rest.substr(slot + 1)))
      return true;
    if ((rest.starts_with('o') || rest.starts_with('s')) && starts_with_number(rest.substr(1))) return true;
    if (rest.starts_with('x') && rest.size() == 17 &&
        rest.find_first_not_of("0123456789abcdef", 1) == std::string_view::npos)
      return true;
  }
  return false;
}

// "nvidia.com/hostdev (mlx5_0 mlx5_1)" of each resource that selects by names of RDMA devices.
std::vector<std::string> selected_by_name(const Config& config) {
  std::vector<std::string> out;
  for (const ResourceConfig& resource : config.resources) {
    std::vector<std::string> names;
    for (const Selector& selector : resource.selectors) {
      for (const std::string& name : selector.list("rdmaDevices"))
        if (name.find_first_not_of('*') != std::string::npos) names.push_back(name);
    }
    if (!names.empty()) out.push_back(resource.resource() + " (" + first_few(names) + ")");
  }
  return out;
}

std::vector<std::string> not_yet_renamed(const Inventory& inventory) {
  std::vector<std::string> out;
  for (const DeviceFacts& function : inventory.functions) {
    for (const std::string& name : function.rdma_names())
      if (is_kernel_name(name)) out.push_back(name);
  }
  return out;
}

CheckResult evaluate_names(const CheckedNode& node, const std::string& what) {
  const auto named = node.config == nullptr ? std::vector<std::string>() : selected_by_name(*node.config);
  if (named.empty()) return {Finding::note, what};
  return {Finding::advice, what + "; selected by name are the devices of " + joined(named, "; "),
          "select by what does not change: pciAddresses, rootDevices, linkTypes, vendors, "
          "devices; or a rule with NAME_KERNEL or NAME_FIXED in /etc/udev/rules.d"};
}

// Where udev's rules cannot be seen, as in the plugin's container, the names show whether they were applied.
CheckResults evaluate_without_rules(const CheckedNode& node) {
  std::vector<std::string> renamed;
  bool all_kernel = true;
  for (const DeviceFacts& function : node.inventory.functions) {
    for (const std::string& name : function.rdma_names()) {
      if (is_renamed(name)) renamed.push_back(name);
      all_kernel &= is_kernel_name(name) || name.find("_bond_") != std::string::npos;
    }
  }
  if (!renamed.empty())
    return {evaluate_names(node,
                           "RDMA devices are named by their slot or GUID (rdma_rename), so names differ "
                           "between nodes: " +
                               first_few(renamed))};
  if (all_kernel) return {};
  return {{Finding::unknown, node.sys.path(kUdevRules[0]) + " is not there"}};
}

Result<CheckResults> check_rdma_names(const CheckedNode& node) {
  if (!has_rdma(node.inventory)) return CheckResults();
  const auto rules = TRY(read_rename_rules(node.sys));
  if (!rules) return evaluate_without_rules(node);
  const auto rule = std::find_if(rules->begin(), rules->end(), differs_between_nodes);
  if (rule == rules->end()) return CheckResults();
  const auto pending = not_yet_renamed(node.inventory);
  const std::string what = node.sys.path(rule->file) +
                           " names RDMA devices by their slot or GUID (rdma_rename " + rule->mode +
                           "), so names differ between nodes" +
                           (pending.empty() ? "" : ", and change when udev runs: " + first_few(pending));
  return CheckResults{evaluate_names(node, what)};
}

// The one field of a selector that keeps a function out, as text; empty: none fails, or several.
std::string only_miss(const ResourceConfig& resource, const DeviceFacts& function) {
  if (type_of(function) != resource.device_type) return "";
  for (const Selector& selector : resource.selectors) {
    const auto fields = compare(selector, function);
    std::vector<std::string> failed;
    for (const FieldMatch& field : fields) {
      if (!field.matches) failed.push_back(field.text());
    }
    if (failed.size() == 1 && fields.size() > 1) return failed.front();
  }
  return "";
}

// One configuration is for all nodes, so a resource that selects nothing here can be meant for others. One
// that a single selector keeps empty is mostly a name that has changed: ens7f0, then ens7f0np0.
Result<CheckResults> check_selection(const CheckedNode& node) {
  if (node.config == nullptr) return CheckResults();
  const Pools pools = match(*node.config, node.inventory);
  CheckResults out;
  for (const Pool& pool : pools.pools) {
    if (!pool.devices.empty()) continue;
    std::vector<std::string> near;
    for (const DeviceFacts& function : node.inventory.functions) {
      // What another resource has is not what this one is meant for.
      const bool taken = std::any_of(pools.pools.begin(), pools.pools.end(), [&](const Pool& other) {
        return other.find(function.id.text()) != nullptr;
      });
      const std::string miss = taken ? "" : only_miss(pool.config, function);
      if (!miss.empty()) near.push_back(shown_device(function) + ": " + miss);
    }
    if (near.empty()) continue;
    out.push_back({Finding::advice,
                   pool.resource() + " selects nothing on this node, and one selector alone keeps out " +
                       near.front() +
                       (near.size() > 1 ? "; and " + std::to_string(near.size() - 1) + " more" : ""),
                   "correct that selector, unless the resource is meant for other nodes; vfrail inspect "
                   "--explain shows every selector"});
  }
  return out;
}

}  // namespace

const NodeChecks& resource_checks() {
  static const NodeChecks kChecks = {
      {"VF-N12", "link-layers", "no resource has devices of both Ethernet and InfiniBand", check_link_layers,
       lacks_config},
      {"VF-N38", "rdma-names", "RDMA devices have the names that the kernel or the administrator gave them",
       check_rdma_names, lacks_rdma},
      {"VF-N46", "selection", "no resource is empty for one selector alone", check_selection, lacks_config},
  };
  return kChecks;
}

}  // namespace vfrail::plugin

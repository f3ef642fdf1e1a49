#include "plugin/device/config/contradiction.h"

#include "common/ids.h"
#include "common/node/driver.h"
#include "common/text.h"
#include "plugin/device/config/selector_table.h"

#include <algorithm>
#include <optional>
#include <set>

namespace vfrail::plugin {

namespace {

using Texts = std::vector<std::string>;

// "pci0000:16" and "0000:86:00.0#0-3" -> "0000". Empty if it has none.
std::string domain_of(std::string text) {
  if (text.starts_with("pci")) return text.substr(3, text.find(':', 3) - 3);
  const auto address = PciAddress::parse(text.substr(0, text.find('#')));
  return address ? address->text().substr(0, address->text().find(':')) : std::string();
}

// A function has the PCI domain of its root and of its PF.
std::string apart_in_domain(const Selector& selector) {
  std::optional<std::set<std::string>> left;
  Texts named;
  for (const char* key : {"pciAddresses", "rootDevices", "pcieRoots"}) {
    if (selector.list(key).empty()) continue;
    named.emplace_back(key);
    std::set<std::string> here;
    for (const std::string& value : selector.list(key)) {
      const std::string domain = domain_of(value);
      if (domain.empty()) return {};  // it has a warning of its own
      if (!left || left->contains(domain)) here.insert(domain);
    }
    left = std::move(here);
  }
  if (!left || !left->empty()) return {};
  return joined(named, " and ") + " have no PCI domain in common";
}

// What a function lacks when a user-space driver is bound to it. An empty pattern matches no name.
std::string bound_to_user_space(const Selector& selector) {
  const Texts& drivers = selector.list("drivers");
  const auto is_user_space = [](const std::string& name) { return Driver(name).is_user_space(); };
  if (drivers.empty() || !std::all_of(drivers.begin(), drivers.end(), is_user_space)) return {};
  const auto said = [&drivers](const std::string& key, const char* what) {
    return key + " cannot be combined with the driver " + joined(drivers, " or ") +
           ", which leaves a function without " + what;
  };
  if (selector.is_rdma) return said("isRdma", "an RDMA device");
  if (!selector.vdpa_type.empty()) return said("vdpaType", "a vDPA device");
  for (const auto& [key, what] : {std::pair{"ifNames", "a netdev"},
                                  {"macs", "a netdev"},
                                  {"linkStates", "a netdev"},
                                  {"rdmaDevices", "an RDMA device"},
                                  {"pKeys", "an RDMA device"}}) {
    const Texts& values = selector.list(key);
    if (!values.empty() && std::find(values.begin(), values.end(), "") == values.end())
      return said(key, what);
  }
  return {};
}

std::string for_pfs_alone(const Selector& selector, DeviceType type) {
  if (selector.is_pf != true) return {};
  for (const char* key : {"pfNames", "rootDevices"}) {
    if (!selector.list(key).empty())
      return std::string("isPf: true cannot be combined with ") + key + ", which selects VFs of the PFs";
  }
  return type == DeviceType::aux_net_device ? "isPf: true: an auxNetDevice is never a PF" : std::string();
}

std::string excluded(const Selector& selector) {
  for (const Selector& other : selector.none_of) {
    if (selects_every_function(other)) return "not: it has no condition, and excludes every function";
    if (implies(selector, other)) return "not: it excludes everything that is selected beside it";
  }
  return {};
}

// PKeys are for InfiniBand.
std::string pkey_of_ethernet(const Selector& selector) {
  const Texts& types = selector.list("linkTypes");
  const bool ethernet =
      !types.empty() &&
      std::all_of(types.begin(), types.end(), [](const std::string& type) { return type == "ether"; });
  return ethernet && !selector.list("pKeys").empty()
             ? "pKeys cannot be combined with linkTypes of Ethernet alone"
             : std::string();
}

}  // namespace

std::string contradiction(const Selector& selector, DeviceType type) {
  for (std::string why : {bound_to_user_space(selector), for_pfs_alone(selector, type),
                          pkey_of_ethernet(selector), apart_in_domain(selector), excluded(selector)}) {
    if (!why.empty()) return why;
  }
  return {};
}

bool implies(const Selector& narrow, const Selector& wide) {
  const auto has = [&](const auto& wanted) {
    const Texts& values = narrow.list(wanted.first);
    return !values.empty() && std::all_of(values.begin(), values.end(), [&](const std::string& value) {
      return std::find(wanted.second.begin(), wanted.second.end(), value) != wanted.second.end();
    });
  };
  return std::all_of(wide.lists.begin(), wide.lists.end(), has) && (!wide.is_rdma || narrow.is_rdma) &&
         (wide.vdpa_type.empty() || wide.vdpa_type == narrow.vdpa_type) &&
         (!wide.is_pf || wide.is_pf == narrow.is_pf) &&
         (wide.none_of.empty() || wide.none_of == narrow.none_of);
}

const ResourceConfig* found_shadowing(const Config& before, const ResourceConfig& resource) {
  const auto has_all = [&](const ResourceConfig& other) {
    if (shares(other) || other.device_type != resource.device_type || other.host_use < resource.host_use)
      return false;
    return std::all_of(resource.selectors.begin(), resource.selectors.end(), [&](const Selector& narrow) {
      return std::any_of(other.selectors.begin(), other.selectors.end(),
                         [&](const Selector& wide) { return implies(narrow, wide); });
    });
  };
  if (shares(resource)) return nullptr;
  const auto at = std::find_if(before.resources.begin(), before.resources.end(), has_all);
  return at == before.resources.end() ? nullptr : &*at;
}

}  // namespace vfrail::plugin

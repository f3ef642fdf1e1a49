#include "plugin/admin/report/filter.h"

#include "common/json.h"
#include "common/text.h"

#include <algorithm>
#include <functional>

namespace vfrail::plugin {

namespace {

bool is_address(const std::string& id, const std::string& name) { return id == name || id == "0000:" + name; }

// The PF itself, its VFs and its sub-functions.
bool belongs_to(const DeviceFacts& function, const std::string& pf, const Inventory& inventory) {
  if (function.pf) return is_address(function.pf->text(), pf) || function.pf_name == pf;
  return is_called(function, pf, inventory);
}

bool is_resource(const Pool& pool, const std::string& name) {
  const std::string resource = pool.resource();
  return resource == name || resource.substr(resource.find('/') + 1) == name;
}

Error unknown_pf(const std::string& name) {
  return {Errc::not_found, 0,
          "no PF here is called \"" + name +
              "\": use its PCI address or its interface; vfrail inspect lists "
              "them"};
}

Error unknown_resource(const std::string& name, const NodeReport& report) {
  std::vector<std::string> known;
  for (const Pool& pool : report.facts.pools.pools) known.push_back(pool.resource());
  const std::string meant = nearest_name(name, known);
  return {Errc::not_found, 0,
          "no resource of the configuration is called \"" + name + "\"" +
              (meant.empty() ? known.empty() ? "" : "; it has " + joined(known)
                             : "; \"" + meant + "\" is probably meant")};
}

using Matches = std::function<bool(const DeviceReport&, const std::string&)>;

// Keeps what one of the names matches; returns the first name without a match, if there is one.
std::optional<std::string> keep(const std::vector<std::string>& names, const Matches& matches,
                                NodeReport& report) {
  for (const std::string& name : names) {
    if (std::none_of(report.devices.begin(), report.devices.end(),
                     [&](const DeviceReport& device) { return matches(device, name); }))
      return name;
  }
  for (DeviceReport& device : report.devices) {
    device.shown = device.shown &&
                   (names.empty() || std::any_of(names.begin(), names.end(), [&](const std::string& name) {
                      return matches(device, name);
                    }));
  }
  return std::nullopt;
}

}  // namespace

bool is_called(const DeviceFacts& function, const std::string& name, const Inventory& inventory) {
  const auto has_name = [&](const auto& one) { return one.name == name; };
  const auto in_lag = [&](const Lag& lag) {
    return lag.name == name &&
           std::any_of(function.netdevs.begin(), function.netdevs.end(), [&](const Netdev& netdev) {
             return std::find(lag.members.begin(), lag.members.end(), netdev.name) != lag.members.end();
           });
  };
  return is_address(function.id.text(), name) ||
         std::any_of(inventory.lags.begin(), inventory.lags.end(), in_lag) ||
         std::any_of(function.netdevs.begin(), function.netdevs.end(), has_name) ||
         std::any_of(function.rdma.begin(), function.rdma.end(), has_name);
}

Error unknown_device(const std::string& name) {
  return {
      Errc::not_found, 0,
      "no function here is called \"" + name +
          "\": use a PCI address like 0000:03:02.1 or 03:02.1, a sub-function, an interface, a bond or an "
          "RDMA device of the host; vfrail inspect lists them"};
}

Result<> apply(const DeviceFilter& filter, NodeReport& report) {
  const Inventory& inventory = report.facts.inventory;
  const auto called = [&](const DeviceReport& device, const std::string& name) {
    return is_called(*device.function, name, inventory);
  };
  if (const auto wrong = keep(filter.devices, called, report)) return unknown_device(*wrong);
  const auto of_pf = [&](const DeviceReport& device, const std::string& name) {
    return belongs_to(*device.function, name, inventory);
  };
  if (const auto wrong = keep(filter.pfs, of_pf, report)) return unknown_pf(*wrong);
  for (const std::string& name : filter.resources) {
    const auto& pools = report.facts.pools.pools;
    if (std::none_of(pools.begin(), pools.end(), [&](const Pool& pool) { return is_resource(pool, name); }))
      return unknown_resource(name, report);
  }
  const auto in_resource = [&](const DeviceReport& device, const std::string& name) {
    return std::any_of(device.resources.begin(), device.resources.end(),
                       [&](const ResourceUse& use) { return is_resource(*use.pool, name); });
  };
  // A resource may be empty.
  for (DeviceReport& device : report.devices) {
    const auto wanted = [&](const std::string& name) { return in_resource(device, name); };
    if (!filter.resources.empty() && std::none_of(filter.resources.begin(), filter.resources.end(), wanted))
      device.shown = false;
    if (filter.unhealthy && device.state != DeviceState::unhealthy) device.shown = false;
  }
  return {};
}

}  // namespace vfrail::plugin

#include "plugin/selector_match.h"

#include "plugin/device_range.h"
#include "plugin/pkey.h"

#include <algorithm>

namespace vfrail {

namespace {

using Mismatch = std::optional<std::string>;
using Texts = std::vector<std::string>;

std::string wanted(const Texts& values) {
  constexpr size_t kShown = 3;  // lists of addresses can be long, the reader wants the gist
  std::string out;
  for (size_t i = 0; i < values.size() && i < kShown; ++i) out += (i == 0 ? "" : " or ") + values[i];
  if (values.size() > kShown) out += " or " + std::to_string(values.size() - kShown) + " more";
  return out;
}

std::string differs(const char* field, const Texts& values, const std::string& found) {
  return std::string(field) + " wants " + wanted(values) + ", this is " + found;
}

Mismatch text(const char* field, const Texts& values, const std::string& found, const char* none) {
  if (values.empty() || std::find(values.begin(), values.end(), found) != values.end()) return std::nullopt;
  return differs(field, values, found.empty() ? none : found);
}

std::string index_text(const Function& function) {
  return function.vf_index < 0 ? "" : "#" + std::to_string(function.vf_index);
}

Mismatch pf_names(const Selector& selector, const Function& function) {
  if (selector.pf_names.empty()) return std::nullopt;
  if (!function.is_vf()) return differs("pfNames", selector.pf_names, "a PF itself, and only VFs can match");
  if (device_ranges_select(selector.pf_names, function.pf_name, function.vf_index)) return std::nullopt;
  if (function.pf_name.empty()) {
    return differs(
        "pfNames", selector.pf_names,
        "a VF of " + function.pf->text() + ", whose netdev is not in the host's network namespace");
  }
  return differs("pfNames", selector.pf_names, function.pf_name + index_text(function));
}

Mismatch root_devices(const Selector& selector, const Function& function) {
  if (selector.root_devices.empty()) return std::nullopt;
  if (!function.is_vf())
    return differs("rootDevices", selector.root_devices, "a PF itself, and only VFs can match");
  const std::string pf = function.pf->text();
  if (device_ranges_select(selector.root_devices, pf, function.vf_index)) return std::nullopt;
  return differs("rootDevices", selector.root_devices, pf + index_text(function));
}

// The text as the kernel prints it, or the same partition in another spelling.
Mismatch pkeys(const Selector& selector, const Function& function) {
  if (selector.pkeys.empty()) return std::nullopt;
  const auto found = parse_pkey(function.pkey);
  const bool matches =
      std::any_of(selector.pkeys.begin(), selector.pkeys.end(), [&](const std::string& value) {
        return value == function.pkey || (found && parse_pkey(value) == found);
      });
  if (matches) return std::nullopt;
  return differs("pKeys", selector.pkeys,
                 function.pkey.empty() ? "a device whose pkey is not visible" : function.pkey);
}

Mismatch vdpa(const Selector& selector, const Function& function) {
  if (selector.vdpa_type.empty()) return std::nullopt;
  const std::string driver = selector.vdpa_type + "_vdpa";
  if (function.vdpa && function.vdpa->driver == driver) return std::nullopt;
  if (!function.vdpa) return "vdpaType wants " + selector.vdpa_type + ", this has no vDPA device";
  return "vdpaType wants " + selector.vdpa_type + ", this has " + function.vdpa->name + " with " +
         (function.vdpa->driver.empty() ? "no driver" : "the driver " + function.vdpa->driver);
}

}  // namespace

std::optional<std::string> find_mismatch(const Selector& selector, const Function& function) {
  // The order of the peer, so that the reason is the one its users know.
  if (auto no = text("vendors", selector.vendors, function.vendor, "without a vendor id")) return no;
  if (auto no = text("devices", selector.devices, function.device, "without a device id")) return no;
  if (auto no = text("drivers", selector.drivers, function.driver, "without a driver")) return no;
  if (auto no = text("pciAddresses", selector.pci_addresses, function.address.text(), "")) return no;
  if (auto no = text("acpiIndexes", selector.acpi_indexes, function.acpi_index, "without an ACPI index"))
    return no;
  if (auto no = pf_names(selector, function)) return no;
  if (auto no = root_devices(selector, function)) return no;
  if (auto no = text("linkTypes", selector.link_types, function.link_type,
                     "without a known link type (neither its netdev nor its PF's is visible)")) {
    return no;
  }
  if (auto no = text("ddpProfiles", selector.ddp_profiles, function.ddp_profile, "without a DDP package"))
    return no;
  if (auto no = pkeys(selector, function)) return no;
  if (selector.is_rdma && !function.rdma_capable) {
    return "isRdma wants an RDMA device, " +
           (function.rdma_capable_why.empty() ? "this has none" : function.rdma_capable_why);
  }
  return vdpa(selector, function);
}

}  // namespace vfrail

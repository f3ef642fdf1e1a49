#include "plugin/selector_match.h"

#include "common/text.h"
#include "plugin/device_range.h"
#include "plugin/pkey.h"

#include <algorithm>
#include <fnmatch.h>
#include <functional>

namespace vfrail {

namespace {

using Texts = std::vector<std::string>;

// One field of a selector object: everything that the rest of this file wants to know about it.
struct Field {
  const char* name;
  std::function<bool(const Selector&)> is_set;
  std::function<bool(const Selector&, const Function&)> matches;
  std::function<std::string(const Selector&)> wanted;
  std::function<std::string(const Function&)> found;
};

std::string either(const Texts& values) {
  constexpr size_t kShown = 3;  // lists of addresses can be long, the reader wants the gist
  Texts shown(values.begin(), values.begin() + static_cast<ptrdiff_t>(std::min(values.size(), kShown)));
  if (values.size() > kShown) shown.push_back(std::to_string(values.size() - kShown) + " more");
  return joined(shown, " or ");
}

bool contains(const Texts& values, const std::string& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

// An empty pattern is the name of a device's interface that has none, as in k8s-rdma-shared-dev-plugin.
bool any_matches(const Texts& patterns, const Texts& values) {
  if (values.empty()) return contains(patterns, "");
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
    return std::any_of(values.begin(), values.end(), [&](const std::string& value) {
      return ::fnmatch(pattern.c_str(), value.c_str(), FNM_NOESCAPE) == 0;
    });
  });
}

std::string or_else(std::string text, const char* none) { return text.empty() ? none : std::move(text); }

// A list of which any value matches; how is told by `matches`.
template <class Matches, class Found>
Field list(const char* name, Texts Selector::*values, Matches matches, Found found) {
  return {name, [values](const Selector& selector) { return !(selector.*values).empty(); },
          [values, matches](const Selector& selector, const Function& function) {
            return matches(selector.*values, function);
          },
          [values](const Selector& selector) { return either(selector.*values); }, found};
}

// A list of which one value has to be equal to the function's.
template <class Value>
Field exact(const char* name, Texts Selector::*values, Value value, const char* none) {
  return list(
      name, values,
      [value](const Texts& wanted, const Function& function) { return contains(wanted, value(function)); },
      [value, none](const Function& function) { return or_else(value(function), none); });
}

// A list of patterns of which one has to match one of the function's values.
template <class Values>
Field globs(const char* name, Texts Selector::*values, Values of, const char* none) {
  return list(
      name, values,
      [of](const Texts& wanted, const Function& function) { return any_matches(wanted, of(function)); },
      [of, none](const Function& function) { return or_else(joined(of(function)), none); });
}

// A yes-or-no field, which matters only when it is `true`.
template <class Matches, class Found>
Field demand(const char* name, bool Selector::*value, const char* wanted, Matches matches, Found found) {
  return {name, [value](const Selector& selector) { return selector.*value; },
          [matches](const Selector&, const Function& function) { return matches(function); },
          [wanted](const Selector&) { return std::string(wanted); }, found};
}

template <class Value>
Texts of_netdevs(const Function& function, Value value) {
  Texts out;
  for (const Netdev& netdev : function.netdevs) out.push_back(value(netdev));
  return out;
}
Texts net_names(const Function& function) {
  return of_netdevs(function, [](const Netdev& netdev) { return netdev.name; });
}
Texts macs(const Function& function) {
  return of_netdevs(function, [](const Netdev& netdev) { return netdev.mac; });
}
Texts link_states(const Function& function) {
  return of_netdevs(function, [](const Netdev& netdev) { return netdev.operstate; });
}
Texts rdma_names(const Function& function) {
  Texts out;
  for (const RdmaFacts& rdma : function.rdma) out.push_back(rdma.name);
  return out;
}

// What pfNames and rootDevices number: a VF by its index, a sub-function by the user's number for it.
int range_index(const Function& function) {
  return function.sf_number ? static_cast<int>(*function.sf_number) : function.vf_index;
}
std::string with_index(const std::string& name, const Function& function) {
  return range_index(function) < 0 ? name : name + "#" + std::to_string(range_index(function));
}
bool in_ranges(const Texts& wanted, const std::string& name, const Function& function) {
  return function.pf && device_ranges_select(wanted, name, range_index(function));
}
std::string found_pf_name(const Function& function) {
  if (!function.pf) return "a PF itself, and only VFs can match";
  if (!function.pf_name.empty()) return with_index(function.pf_name, function);
  return "a VF of " + function.pf->text() + ", whose netdev is not in the host's network namespace";
}
std::string found_root_device(const Function& function) {
  if (!function.pf) return "a PF itself, and only VFs can match";
  return with_index(function.pf->text(), function);
}

// The text as the kernel prints it, or the same partition in another spelling.
bool matches_pkey(const Texts& wanted, const Function& function) {
  const auto found = parse_pkey(function.pkey);
  return std::any_of(wanted.begin(), wanted.end(), [&](const std::string& value) {
    return value == function.pkey || (found && parse_pkey(value) == found);
  });
}

bool matches_subsystem(const Texts& wanted, const Function& function) {
  return contains(wanted, function.subsystem_vendor) ||
         contains(wanted, function.subsystem_vendor + ":" + function.subsystem_device);
}
std::string found_subsystem(const Function& function) {
  return or_else(function.subsystem_vendor, "none") + ":" + or_else(function.subsystem_device, "none");
}

// The interface of a virtio device is not its own but that of the virtioN below it, where the peers look for
// none: a list of link types does not select it.
bool is_virtio(const Function& function) { return function.driver == "virtio-pci"; }
std::string compared_link_type(const Function& function) {
  return is_virtio(function) ? std::string() : function.link_type;
}
std::string found_link_type(const Function& function) {
  if (is_virtio(function)) return "a virtio device, whose link type is not compared";
  return or_else(function.link_type,
                 "without a known link type (neither its netdev nor its PF's is visible)");
}

std::string found_rdma(const Function& function) {
  if (function.rdma_capable) return "one with an RDMA device";
  return "one without" + (function.rdma_capable_why.empty() ? "" : ": " + function.rdma_capable_why);
}

std::string found_vdpa(const Function& function) {
  if (!function.vdpa) return "one without a vDPA device";
  return function.vdpa->name + " with " +
         (function.vdpa->driver.empty() ? "no driver" : "the driver " + function.vdpa->driver);
}

std::string numa_text(const Function& function) {
  return function.numa_node ? std::to_string(*function.numa_node) : std::string();
}

std::string aux_type(const Function& function) {
  const auto parts = split(function.aux_name, ".");  // "mlx5_core.sf.4"
  return parts.size() < 2 ? std::string() : parts[parts.size() - 2];
}

Field vdpa_field() {
  return {"vdpaType", [](const Selector& selector) { return !selector.vdpa_type.empty(); },
          [](const Selector& selector, const Function& function) {
            return function.vdpa && function.vdpa->driver == selector.vdpa_type + "_vdpa";
          },
          [](const Selector& selector) { return selector.vdpa_type; }, found_vdpa};
}

Field pf_field() {
  return {"isPf", [](const Selector& selector) { return selector.is_pf.has_value(); },
          [](const Selector& selector, const Function& function) {
            return *selector.is_pf == !function.pf.has_value();
          },
          [](const Selector& selector) { return std::string(*selector.is_pf ? "a PF" : "no PF"); },
          [](const Function& function) { return std::string(function.pf ? "none" : "one"); }};
}

Field not_field() {
  return {"not", [](const Selector& selector) { return !selector.none_of.empty(); },
          [](const Selector& selector, const Function& function) {
            return std::none_of(selector.none_of.begin(), selector.none_of.end(),
                                [&](const Selector& other) { return selects(other, function); });
          },
          [](const Selector&) { return std::string("one that its selectors do not match"); },
          [](const Function&) { return std::string("one that they match"); }};
}

// The peer's fields in the peer's order, so that the reason is the one its users know; then ours.
const std::vector<Field>& fields() {
  using F = const Function&;
  static const std::vector<Field> kFields = {
      exact(
          "vendors", &Selector::vendors, [](F f) { return f.vendor; }, "without a vendor id"),
      exact(
          "devices", &Selector::devices, [](F f) { return f.device; }, "without a device id"),
      exact(
          "drivers", &Selector::drivers, [](F f) { return f.driver; }, "without a driver"),
      exact(
          "pciAddresses", &Selector::pci_addresses, [](F f) { return f.address.text(); }, ""),
      exact(
          "acpiIndexes", &Selector::acpi_indexes, [](F f) { return f.acpi_index; }, "without an ACPI index"),
      exact("auxTypes", &Selector::aux_types, aux_type, "no auxiliary device"),
      list(
          "pfNames", &Selector::pf_names,
          [](const Texts& wanted, F f) { return in_ranges(wanted, f.pf_name, f); }, found_pf_name),
      list(
          "rootDevices", &Selector::root_devices,
          [](const Texts& wanted, F f) { return f.pf && in_ranges(wanted, f.pf->text(), f); },
          found_root_device),
      list(
          "linkTypes", &Selector::link_types,
          [](const Texts& wanted, F f) { return contains(wanted, compared_link_type(f)); }, found_link_type),
      exact(
          "ddpProfiles", &Selector::ddp_profiles, [](F f) { return f.ddp_profile; }, "without a DDP package"),
      list("pKeys", &Selector::pkeys, matches_pkey,
           [](F f) { return or_else(f.pkey, "a device whose pkey is not visible"); }),
      demand(
          "isRdma", &Selector::is_rdma, "a function with an RDMA device", [](F f) { return f.rdma_capable; },
          found_rdma),
      vdpa_field(),
      globs("ifNames", &Selector::net_names, net_names, "without a netdev in the host"),
      globs("macs", &Selector::macs, macs, "without a netdev in the host"),
      globs("linkStates", &Selector::link_states, link_states, "without a netdev in the host"),
      globs("rdmaDevices", &Selector::rdma_devices, rdma_names, "without an RDMA device in the host"),
      list("subsystems", &Selector::subsystems, matches_subsystem, found_subsystem),
      exact("numaNodes", &Selector::numa_nodes, numa_text, "on no known NUMA node"),
      exact(
          "pcieRoots", &Selector::pcie_roots,
          [](F f) { return f.pcie_path.empty() ? std::string() : f.pcie_path.front(); },
          "below no known PCIe root"),
      pf_field(),
      not_field(),
  };
  return kFields;
}

FieldVerdict judge(const Field& field, const Selector& selector, const Function& function) {
  return {field.name, field.matches(selector, function), field.wanted(selector), field.found(function)};
}

}  // namespace

std::string FieldVerdict::text() const { return field + " wants " + wanted + ", this is " + found; }

bool selects(const Selector& selector, const Function& function) {
  return std::all_of(fields().begin(), fields().end(), [&](const Field& field) {
    return !field.is_set(selector) || field.matches(selector, function);
  });
}

std::optional<std::string> find_mismatch(const Selector& selector, const Function& function) {
  for (const Field& field : fields()) {
    if (field.is_set(selector) && !field.matches(selector, function))
      return judge(field, selector, function).text();
  }
  return std::nullopt;
}

std::vector<FieldVerdict> compare(const Selector& selector, const Function& function) {
  std::vector<FieldVerdict> out;
  for (const Field& field : fields()) {
    if (field.is_set(selector)) out.push_back(judge(field, selector, function));
  }
  return out;
}

}  // namespace vfrail

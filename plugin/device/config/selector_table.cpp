#include "plugin/device/config/selector_table.h"

#include "common/pkey.h"
#include "common/text.h"
#include "plugin/device/config/device_range.h"
#include "plugin/device/config/selector.h"
#include "plugin/device/config/selector_facts.h"
#include "plugin/device/config/selector_forms.h"

#include <algorithm>
#include <fnmatch.h>
#include <iterator>

namespace vfrail::plugin {

namespace {

using Texts = std::vector<std::string>;
using Types = std::vector<DeviceType>;
using F = const DeviceFacts&;

// NetDeviceSelectors, AuxNetDeviceSelectors and AccelDeviceSelectors in pkg/types/types.go of the peer;
// acpiIndexes of an auxNetDevice are read there and never compared (auxNetDeviceProvider.go).
const Types kNet{DeviceType::net_device};
const Types kAux{DeviceType::aux_net_device};
const Types kNetAux{DeviceType::net_device, DeviceType::aux_net_device};
const Types kNetAccelerator{DeviceType::net_device, DeviceType::accelerator};
const Types kEvery{};

// `not` within `not` within ... is not readable for a person.
constexpr int kMaxDepth = 3;

struct FieldText {
  const char* key;
  const char* fact;
  const char* document;
  const char* alias = "";
};

// A warning for each value that can never match; a list of nothing else is a mistake, it selects nothing.
template <class CanMatch>
void remark_values(SelectorInput& input, const char* key, const Texts& values, CanMatch can_match,
                   const char* wanted) {
  const bool never = std::none_of(values.begin(), values.end(), can_match);
  for (const std::string& value : values) {
    if (!can_match(value))
      input.warnings.remark(input.reader, key, "\"" + value + "\" can never match: " + wanted,
                            never ? ErrorId::config_mistake : ErrorId::config_doubtful);
  }
}

Result<> parse_list(SelectorInput& input, const char* key, const SelectorForm& form, Texts& out) {
  Texts values = TRY(input.warnings.read_texts(input.reader, key));
  remark_values(input, key, values, form.can_match, form.wanted);
  if (&form == &kNameForm) input.warnings.mark_patterns(input.reader, key, values);
  std::move(values.begin(), values.end(), std::back_inserter(out));
  return {};
}

std::string one_of(const Texts& values) {
  constexpr size_t kShown = 3;  // lists of addresses can be long
  Texts shown(values.begin(), values.begin() + static_cast<ptrdiff_t>(std::min(values.size(), kShown)));
  if (values.size() > kShown) shown.push_back(std::to_string(values.size() - kShown) + " more");
  return "one of [" + joined(shown, ", ") + "]";
}

bool contains(const Texts& values, const std::string& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

bool any_matches(const Texts& patterns, const Texts& values) {
  if (values.empty()) return contains(patterns, "");  // no interface, as in k8s-rdma-shared-dev-plugin
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
    return std::any_of(values.begin(), values.end(), [&](const std::string& value) {
      return ::fnmatch(pattern.c_str(), value.c_str(), FNM_NOESCAPE) == 0;
    });
  });
}

SelectorField field(const FieldText& words, Types types) {
  SelectorField out{};
  out.key = words.key;
  out.alias = words.alias;
  out.fact = words.fact;
  out.document = words.document;
  out.types = std::move(types);
  return out;
}

// A list of which any value matches, by `matches`.
template <class Matches, class Found>
SelectorField list(const FieldText& words, Types types, const SelectorForm& form, Matches matches,
                   Found found) {
  const std::string key = words.key;
  SelectorField out = field(words, std::move(types));
  out.parse = [words, &form](SelectorInput& input, Selector& selector) -> Result<> {
    Texts values;
    TRY(parse_list(input, words.key, form, values));
    if (*words.alias != '\0') TRY(parse_list(input, words.alias, form, values));
    if (!values.empty()) selector.lists[words.key] = std::move(values);
    return {};
  };
  out.is_set = [key](const Selector& selector) { return !selector.list(key).empty(); };
  out.clear = [key](Selector& selector) { selector.lists.erase(key); };
  out.matches = [key, matches](const Selector& selector, F function) {
    return matches(selector.list(key), function);
  };
  out.wanted = [key](const Selector& selector) { return one_of(selector.list(key)); };
  out.found = found;
  return out;
}

// A list of which one value has to be equal to the function's.
template <class Value>
SelectorField exact(const FieldText& words, Types types, const SelectorForm& form, Value value) {
  return list(
      words, std::move(types), form,
      [value](const Texts& wanted, F function) { return contains(wanted, value(function)); },
      [value](F function) { return or_none(value(function)); });
}

// A list of patterns of which one has to match one of the function's values.
template <class Values>
SelectorField globs(const FieldText& words, const SelectorForm& form, Values of) {
  return list(
      words, kEvery, form,
      [of](const Texts& wanted, F function) { return any_matches(wanted, of(function)); },
      [of](F function) {
        const Texts values = of(function);
        return values.empty() ? std::string("none in the host") : joined(values);
      });
}

int64_t index_at_pf(F function) {
  return function.sf_number ? int64_t{*function.sf_number} : function.vf_index;
}

// VFs of a PF, or sub-functions, by their numbers.
template <class Name, class Found>
SelectorField ranges(const FieldText& words, const SelectorForm& name_form, Name name, Found found) {
  SelectorField out = list(
      words, kNetAux, kAnyForm,  // each part of a value has a form of its own
      [name](const Texts& wanted, F function) {
        return function.pf && device_ranges_select(wanted, name(function), index_at_pf(function));
      },
      found);
  out.parse = [words, &name_form, parse = out.parse](SelectorInput& input, Selector& selector) -> Result<> {
    TRY(parse(input, selector));
    const Texts& values = selector.list(words.key);
    const bool never = std::all_of(values.begin(), values.end(), device_range_is_empty);
    for (const std::string& value : values) {
      const std::string fault = device_range_fault(value);
      if (!fault.empty())
        input.warnings.remark(input.reader, words.key, "\"" + value + "\": " + fault,
                              never ? ErrorId::config_mistake : ErrorId::config_doubtful);
    }
    remark_values(
        input, words.key, values,
        [&name_form](const std::string& value) {
          return name_form.can_match(value.substr(0, value.find('#')));
        },
        name_form.wanted);
    if (&name_form == &kPfNameForm) input.warnings.mark_patterns(input.reader, words.key, values);
    return {};
  };
  return out;
}

// The text as the kernel prints it, or another notation of the same partition.
bool matches_pkey(const Texts& wanted, F function) {
  const auto found = parse_pkey(function.pkey);
  return std::any_of(wanted.begin(), wanted.end(), [&](const std::string& value) {
    return value == function.pkey || (found && parse_pkey(value) == found);
  });
}

bool matches_subsystem(const Texts& wanted, F function) {
  return contains(wanted, function.subsystem_vendor) ||
         contains(wanted, function.subsystem_vendor + ":" + function.subsystem_device);
}
bool matches_link_type(const Texts& wanted, F function) {
  return contains(wanted, compared_link_type(function));
}

const SelectorForm kIndexForm{
    [](std::string_view value) { return device_range_fault("#" + std::string(value)).empty(); },
    "numbers and ranges are written like 0-3,7"};

bool matches_index(const Texts& wanted, F function) {
  return std::any_of(wanted.begin(), wanted.end(), [&](const std::string& value) {
    return device_range_selects("PF#" + value, "PF", index_at_pf(function));
  });
}
std::string found_index(F function) {
  return index_at_pf(function) < 0 ? std::string("none") : std::to_string(index_at_pf(function));
}

SelectorField numa_field(const FieldText& words) {
  SelectorField out = exact(words, kEvery, kAnyForm, numa_text);
  out.parse = [words](SelectorInput& input, Selector& selector) -> Result<> {
    const Json::Array* values = TRY(input.reader.array(words.key));
    for (size_t i = 0; values != nullptr && i < values->size(); ++i) {
      const auto number = (*values)[i].as_int();
      if (number == nullptr || *number < 0) {
        return input.reader.error(std::string(words.key) + "[" + std::to_string(i) + "]",
                                  "must be a number from 0 on, got " + (*values)[i].text());
      }
      selector.lists[words.key].push_back(std::to_string(*number));
    }
    return {};
  };
  return out;
}

// A field that is on or off, and matters only when it is `true`.
SelectorField flag(const FieldText& words, Types types, bool Selector::*value) {
  SelectorField out = field(words, std::move(types));
  out.parse = [words, value](SelectorInput& input, Selector& selector) -> Result<> {
    selector.*value = TRY(input.reader.boolean(words.key)).value_or(false);
    return {};
  };
  out.is_set = [value](const Selector& selector) { return selector.*value; };
  out.clear = [value](Selector& selector) { selector.*value = false; };
  return out;
}

SelectorField rdma_field(const FieldText& words) {
  SelectorField out = flag(words, kNetAux, &Selector::is_rdma);
  out.matches = [](const Selector&, F function) { return function.rdma_capable; };
  out.wanted = [](const Selector&) { return std::string("one"); };
  out.found = [](F function) {
    if (function.rdma_capable) return std::string("there");
    return "none" + (function.rdma_capable_why.empty() ? "" : " (" + function.rdma_capable_why + ")");
  };
  return out;
}

SelectorField vdpa_field(const FieldText& words) {
  SelectorField out = field(words, kNet);
  out.parse = [words](SelectorInput& input, Selector& selector) -> Result<> {
    std::string& type = selector.vdpa_type;
    type = TRY(input.reader.text(words.key)).value_or("");
    if (!type.empty() && type != "virtio" && type != "vhost")
      input.warnings.mistake(input.reader, words.key,
                             "\"" + type + "\" can never match: there are \"virtio\" and \"vhost\"");
    return {};
  };
  out.is_set = [](const Selector& selector) { return !selector.vdpa_type.empty(); };
  out.clear = [](Selector& selector) { selector.vdpa_type.clear(); };
  out.matches = [](const Selector& selector, F function) {
    return function.vdpa && function.vdpa->driver.name() == selector.vdpa_type + "_vdpa";
  };
  out.wanted = [](const Selector& selector) { return selector.vdpa_type; };
  out.found = [](F function) {
    if (!function.vdpa) return std::string("none");
    return function.vdpa->name + " with " +
           (function.vdpa->driver.is_bound() ? "the driver " + function.vdpa->driver.name() : "no driver");
  };
  return out;
}

SelectorField pf_field(const FieldText& words) {
  SelectorField out = field(words, kEvery);
  out.parse = [words](SelectorInput& input, Selector& selector) -> Result<> {
    selector.is_pf = TRY(input.reader.boolean(words.key));
    return {};
  };
  out.is_set = [](const Selector& selector) { return selector.is_pf.has_value(); };
  out.clear = [](Selector& selector) { selector.is_pf.reset(); };
  out.matches = [](const Selector& selector, F function) {
    return *selector.is_pf == !function.pf.has_value();
  };
  out.wanted = [](const Selector& selector) { return std::string(*selector.is_pf ? "a PF" : "no PF"); };
  out.found = found_kind;
  return out;
}

SelectorField not_field(const FieldText& words) {
  SelectorField out = field(words, kEvery);
  out.parse = [words](SelectorInput& input, Selector& selector) -> Result<> {
    const Json* others = input.reader.value(words.key);
    if (others == nullptr) return {};
    if (input.depth == kMaxDepth) return input.reader.error(words.key, "too many of them within each other");
    selector.none_of =
        TRY(parse_selectors(*others, input.reader.path(words.key), input.warnings, input.depth + 1));
    return {};
  };
  out.is_set = [](const Selector& selector) { return !selector.none_of.empty(); };
  out.clear = [](Selector& selector) { selector.none_of.clear(); };
  out.matches = [](const Selector& selector, F function) {
    return std::none_of(selector.none_of.begin(), selector.none_of.end(),
                        [&](const Selector& other) { return selects(other, function); });
  };
  out.wanted = [](const Selector&) { return std::string("another"); };
  out.found = [](F) { return std::string("one that \"not\" matches"); };
  return out;
}

}  // namespace

const std::vector<SelectorField>& selector_fields() {
  static const std::vector<SelectorField> kFields = {
      exact({"vendors", "vendor", "PCI vendor, `\"15b3\"`"}, kEvery, kPciIdForm,
            [](F f) { return f.vendor; }),
      exact({"devices", "device", "PCI device, `\"101e\"`", "deviceIDs"}, kEvery, kPciIdForm,
            [](F f) { return f.device; }),
      exact({"drivers", "driver", "name of the bound driver; of a sub-function its parent's"}, kEvery,
            kNameForm, [](F f) { return f.driver.name(); }),
      exact({"pciAddresses", "address", "`\"0000:03:02.1\"`"}, kNetAccelerator, kPciAddressForm,
            [](F f) { return f.address.text(); }),
      exact({"acpiIndexes", "ACPI index", "text of `acpi_index`"}, kNet, kAnyForm,
            [](F f) { return f.acpi_index; }),
      exact({"auxTypes", "auxiliary type", "`sf`: sub-functions"}, kAux, kNameForm, aux_type),
      ranges(
          {"pfNames", "PF",
           "netdev of the PF, with VFs (or sub-functions by their `sfnum`) if wanted: `\"ens785f0#0-3,7\"`"},
          kPfNameForm, [](F f) { return f.pf_name; }, found_pf_name),
      ranges(
          {"rootDevices", "root device", "PCI address of the PF, likewise: `\"0000:86:00.0#0-3,7\"`"},
          kRootDeviceForm, [](F f) { return f.pf->text(); }, found_root_device),
      list({"linkTypes", "link type",
            "`ether`, `infiniband`; of its netdev, else of its PF's. A virtio device has none, as in "
            "sriov-network-device-plugin"},
           kNetAux, kLinkTypeForm, matches_link_type, found_link_type),
      exact({"ddpProfiles", "DDP package", "name of the DDP package, through devlink"}, kNet, kNameForm,
            [](F f) { return f.ddp_profile; }),
      list({"pKeys", "pkey", "partition key, compared as a number without its membership bit"}, kNet,
           kPkeyForm, matches_pkey, [](F f) { return f.pkey.empty() ? std::string("not visible") : f.pkey; }),
      rdma_field({"isRdma", "RDMA device",
                  "`true`: RDMA-capable functions only, and their device nodes go into the container"}),
      flag({"needVhostNet", "vhost-net", "no filter: /dev/vhost-net and /dev/net/tun go into the container"},
           kNetAux, &Selector::need_vhost_net),
      vdpa_field(
          {"vdpaType", "vDPA device", "`virtio` or `vhost`: functions whose vDPA device has that driver"}),
      globs(
          {"ifNames", "interface",
           "name of a netdev of its own; with `*`, `?`, `[...]`. A device in a pod has none in the host, so "
           "exclusive pools are better selected by what stays"},
          kInterfaceForm, net_names),
      globs({"macs", "MAC address", "MAC address of a netdev of its own, in lower case; likewise"}, kMacForm,
            macs),
      globs({"linkStates", "link state", "`up`, `down`: of its own netdev"}, kLinkStateForm, link_states),
      globs({"rdmaDevices", "RDMA device", "name of its RDMA device; with `*`, `?`, `[...]`"},
            kRdmaDeviceForm, rdma_names),
      list({"subsystems", "subsystem", "`\"15b3:0058\"`, or the vendor alone"}, kEvery, kSubsystemForm,
           matches_subsystem, found_subsystem),
      numa_field({"numaNodes", "NUMA node", "`[0]`"}),
      exact({"pcieRoots", "PCIe root", "`\"pci0000:16\"`, as in `readlink /sys/bus/pci/devices/ADDRESS`"},
            kEvery, kPcieRootForm,
            [](F f) { return f.pcie_path.empty() ? std::string() : f.pcie_path.front(); }),
      list({"vfIndexes", "VF index",
            "VFs by their index, whatever their PF is called (sub-functions by their `sfnum`): `[\"0-3\", "
            "\"7\"]`"},
           kEvery, kIndexForm, matches_index, found_index),
      pf_field(
          {"isPf", "function",
           "`true`: PFs only; `false`: none. In a virtual machine what was passed through has no PF there, "
           "and counts as one"}),
      not_field(
          {"not", "function", "an object or a list of them: what one of these matches is not selected"}),
  };
  return kFields;
}

const std::vector<std::string>& selector_keys() {
  static const std::vector<std::string> kKeys = [] {
    std::vector<std::string> out;
    for (const SelectorField& field : selector_fields()) {
      out.emplace_back(field.key);
      if (*field.alias != '\0') out.emplace_back(field.alias);
    }
    return out;
  }();
  return kKeys;
}

bool selects_every_function(const Selector& selector) {
  const auto& fields = selector_fields();
  return std::none_of(fields.begin(), fields.end(),
                      [&](const SelectorField& field) { return field.matches && field.is_set(selector); });
}

bool selects(const Selector& selector, const DeviceFacts& function) {
  const auto& fields = selector_fields();
  return std::all_of(fields.begin(), fields.end(), [&](const SelectorField& field) {
    return !field.matches || !field.is_set(selector) || field.matches(selector, function);
  });
}

std::string selectors_document() {
  std::string out = "| selector | matches |\n|---|---|\n";
  for (const SelectorField& field : selector_fields()) {
    out += std::string("| `") + field.key + "`" +
           (*field.alias == '\0' ? "" : std::string(" (`") + field.alias + "`)") + " | " + field.document +
           " |\n";
  }
  return out;
}

}  // namespace vfrail::plugin

#include "plugin/config_selector.h"

#include "common/ids.h"
#include "plugin/device_range.h"
#include "plugin/pkey.h"

#include <algorithm>

namespace vfrail {

namespace {

// What a value must look like to match any device, and how to say it.
struct Form {
  bool (*can_match)(std::string_view value);
  const char* wanted;
};

bool pci_id(std::string_view value) {
  return value.size() == 4 && value.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}
bool pci_address(std::string_view value) {
  const auto address = PciAddress::parse(value);
  return address && address->text() == value;
}
// Empty is what a device without a visible interface has, as in the peers.
bool link_type(std::string_view value) { return value.empty() || value == "ether" || value == "infiniband"; }
bool pkey(std::string_view value) { return parse_pkey(value).has_value(); }
bool non_empty(std::string_view value) { return !value.empty(); }
bool anything(std::string_view) { return true; }

constexpr Form kPciId{pci_id, "four lower-case hexadecimal digits, like 15b3, are compared"};
constexpr Form kPciAddress{pci_address, "a full PCI address in lower case, like 0000:3b:02.6, is compared"};
constexpr Form kLinkType{link_type, "devices have ether or infiniband"};
constexpr Form kPkey{pkey, "a hexadecimal number up to 0xffff, like 0x8001, is wanted"};
bool subsystem(std::string_view value) {
  const size_t colon = std::min(value.find(':'), value.size());
  return pci_id(value.substr(0, colon)) && (colon == value.size() || pci_id(value.substr(colon + 1)));
}
bool lower_case(std::string_view value) {
  return std::none_of(value.begin(), value.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
}
bool pcie_root(std::string_view value) { return value.starts_with("pci") && value.size() > 3; }
bool link_state(std::string_view value) {
  return value == "up" || value == "down" || value == "lowerlayerdown" || value == "dormant" ||
         value == "unknown";
}

constexpr Form kSubsystem{subsystem,
                          "a subsystem vendor with or without a device, like 15b3:0058, is compared"};
constexpr Form kMac{lower_case, "MAC addresses are compared in lower case, like 02:00:00:*"};
constexpr Form kPcieRoot{pcie_root, "the first part of the path in sysfs is compared, like pci0000:16"};
constexpr Form kLinkState{link_state, "an operstate of the kernel is compared, mostly up or down"};
constexpr Form kName{non_empty, "it is empty"};
constexpr Form kAnything{anything, ""};

// `not` within `not` within ... says nothing that a person could still read.
constexpr int kMaxDepth = 3;

class SelectorReader {
 public:
  SelectorReader(const Json::Object& object, const std::string& path, ConfigWarnings& warnings, int depth)
      : reader_(object, path), warnings_(warnings), depth_(depth) {}

  Result<Selector> read() {
    Selector out;
    out.vendors = TRY(texts("vendors", kPciId), "");
    out.devices = TRY(texts("devices", kPciId), "");
    for (std::string& device : TRY(texts("deviceIDs", kPciId), "")) out.devices.push_back(std::move(device));
    out.drivers = TRY(texts("drivers", kName), "");
    out.pci_addresses = TRY(texts("pciAddresses", kPciAddress), "");
    out.acpi_indexes = TRY(texts("acpiIndexes", kAnything), "");
    out.pf_names = TRY(ranges("pfNames"), "");
    out.root_devices = TRY(ranges("rootDevices"), "");
    out.link_types = TRY(texts("linkTypes", kLinkType), "");
    out.ddp_profiles = TRY(texts("ddpProfiles", kName), "");
    out.pkeys = TRY(texts("pKeys", kPkey), "");
    out.is_rdma = TRY(reader_.boolean("isRdma"), "").value_or(false);
    out.need_vhost_net = TRY(reader_.boolean("needVhostNet"), "").value_or(false);
    out.vdpa_type = TRY(vdpa_type(), "");
    TRY(read_more(out), "");
    TRY(warnings_.unknown_keys(reader_, KeyPlace::selector), "");
    return out;
  }

 private:
  // What no peer has, but for ifNames and auxTypes.
  Result<> read_more(Selector& out) {
    out.aux_types = TRY(texts("auxTypes", kName), "");
    out.net_names = TRY(texts("ifNames", kAnything), "");
    out.macs = TRY(texts("macs", kMac), "");
    out.subsystems = TRY(texts("subsystems", kSubsystem), "");
    out.numa_nodes = TRY(numbers("numaNodes"), "");
    out.pcie_roots = TRY(texts("pcieRoots", kPcieRoot), "");
    out.rdma_devices = TRY(texts("rdmaDevices", kName), "");
    out.link_states = TRY(texts("linkStates", kLinkState), "");
    out.is_pf = TRY(reader_.boolean("isPf"), "");
    const Json* others = reader_.value("not");
    if (others == nullptr) return {};
    if (depth_ == kMaxDepth) return reader_.error("not", "too many of them within each other");
    out.none_of = TRY(parse_selectors(*others, reader_.path("not"), warnings_, depth_ + 1), "");
    return {};
  }

  void remark(const char* key, const std::string& value, const std::string& what) {
    warnings_.remark(reader_.path(key), "\"" + value + "\"" + what);
  }

  Result<std::vector<std::string>> texts(const char* key, const Form& form) {
    auto values = TRY(reader_.texts(key), "").value_or(std::vector<std::string>());
    for (const std::string& value : values) {
      if (!form.can_match(value)) {
        remark(key, value, std::string(" can never match: ") + form.wanted);
      }
    }
    return values;
  }

  Result<std::vector<std::string>> numbers(const char* key) {
    std::vector<std::string> out;
    const Json::Array* list = TRY(reader_.array(key), "");
    for (size_t i = 0; list != nullptr && i < list->size(); ++i) {
      const auto number = (*list)[i].as_int();
      if (number == nullptr || *number < 0) {
        return reader_.error(std::string(key) + "[" + std::to_string(i) + "]",
                             "a number from 0 on is wanted, this is " + (*list)[i].text());
      }
      out.push_back(std::to_string(*number));
    }
    return out;
  }

  Result<std::vector<std::string>> ranges(const char* key) {
    auto values = TRY(texts(key, kName), "");
    for (const std::string& value : values) {
      const std::string fault = device_range_fault(value);
      if (!fault.empty()) remark(key, value, ": " + fault);
    }
    if (std::string_view(key) != "rootDevices") return values;
    for (const std::string& value : values) {
      if (!PciAddress::parse(value.substr(0, value.find('#')))) {
        remark(key, value, std::string(" can never match: ") + kPciAddress.wanted);
      }
    }
    return values;
  }

  Result<std::string> vdpa_type() {
    const std::string type = TRY(reader_.text("vdpaType"), "").value_or("");
    if (type.empty() || type == "virtio" || type == "vhost") return type;
    remark("vdpaType", type, " can never match: there are \"virtio\" and \"vhost\"");
    return type;
  }

  ObjectReader reader_;
  ConfigWarnings& warnings_;
  int depth_;
};

Error no_object(const std::string& path, const char* wanted, const Json& value) {
  return Error{Errc::invalid, 0, path + ": " + wanted + " is wanted, this is " + value.type_name()};
}

}  // namespace

Result<std::vector<Selector>> parse_selectors(const Json& value, const std::string& path,
                                              ConfigWarnings& warnings, int depth) {
  if (const Json::Object* object = value.as_object())
    return std::vector<Selector>{TRY(SelectorReader(*object, path, warnings, depth).read(), "")};
  const Json::Array* list = value.as_array();
  if (list == nullptr) return no_object(path, "an object or a list of objects", value);
  if (list->empty())
    return Error{Errc::invalid, 0, path + ": the list is empty; it needs at least one object"};
  std::vector<Selector> out;
  for (size_t i = 0; i < list->size(); ++i) {
    const std::string entry = path + "[" + std::to_string(i) + "]";
    const Json::Object* object = (*list)[i].as_object();
    if (object == nullptr) return no_object(entry, "an object", (*list)[i]);
    out.push_back(TRY(SelectorReader(*object, entry, warnings, depth).read(), ""));
  }
  return out;
}

}  // namespace vfrail

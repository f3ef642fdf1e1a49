#include "plugin/config/selector_forms.h"

#include "common/ids.h"
#include "common/pkey.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace vfrail {

namespace {

bool pci_id(std::string_view value) {
  return value.size() == 4 && value.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}
bool pci_address(std::string_view value) {
  const auto address = PciAddress::parse(value);
  return address && address->text() == value;
}
// Compared without regard to case (device_range.h).
bool root_device(std::string_view value) {
  std::string lower(value);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return pci_address(lower);
}
// Empty means a device without a visible interface, as in the peers.
bool link_type(std::string_view value) { return value.empty() || value == "ether" || value == "infiniband"; }
bool pkey(std::string_view value) { return parse_pkey(value).has_value(); }
bool non_empty(std::string_view value) { return !value.empty(); }
bool anything(std::string_view) { return true; }
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

}  // namespace

const SelectorForm kPciIdForm{pci_id, "four lower-case hexadecimal digits, like 15b3, are compared"};
const SelectorForm kPciAddressForm{pci_address,
                                   "a full PCI address in lower case, like 0000:3b:02.6, is compared"};
const SelectorForm kRootDeviceForm{root_device, "a full PCI address, like 0000:3b:02.6, is compared"};
const SelectorForm kLinkTypeForm{link_type, "devices have ether or infiniband"};
const SelectorForm kPkeyForm{pkey, "must be a hexadecimal number up to 0xffff, like 0x8001"};
const SelectorForm kSubsystemForm{subsystem,
                                  "a subsystem vendor with or without a device, like 15b3:0058, is compared"};
const SelectorForm kMacForm{lower_case, "MAC addresses are compared in lower case, like 02:00:00:*"};
const SelectorForm kPcieRootForm{pcie_root,
                                 "the first part of the path in sysfs is compared, like pci0000:16"};
const SelectorForm kLinkStateForm{link_state, "an operstate of the kernel is compared, mostly up or down"};
const SelectorForm kNameForm{non_empty, "it is empty"};
const SelectorForm kAnyForm{anything, ""};

}  // namespace vfrail

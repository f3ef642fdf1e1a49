#include "plugin/device/config/selector_forms.h"

#include "common/ids.h"
#include "common/pkey.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <fnmatch.h>
#include <string>

namespace vfrail::plugin {

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
// operstates in net/core/net-sysfs.c.
constexpr std::array kLinkStates{"unknown", "notpresent", "down", "lowerlayerdown",
                                 "testing", "dormant",    "up"};
// As selector_table.cpp compares patterns. Empty means a device without an interface.
bool link_state(std::string_view value) {
  const std::string pattern(value);
  return pattern.empty() || std::any_of(kLinkStates.begin(), kLinkStates.end(), [&](const char* state) {
           return ::fnmatch(pattern.c_str(), state, FNM_NOESCAPE) == 0;
         });
}
// Whether the pattern matches any name of at most that many bytes and without these characters. What begins
// with a "[" can be anything.
bool matches_a_name(std::string_view pattern, size_t longest, std::string_view never) {
  const std::string_view plain = pattern.substr(0, pattern.find('['));
  const auto stars = static_cast<size_t>(std::count(plain.begin(), plain.end(), '*'));
  return plain.size() - stars <= longest && plain.find_first_of(never) == std::string_view::npos;
}
// dev_valid_name() in net/core/dev.c, and "%", which is replaced when an interface is named.
bool interface_pattern(std::string_view value) { return matches_a_name(value, 15, "/:% \t\n\v\f\r"); }
bool pf_name(std::string_view value) { return IfName::parse(value).has_value(); }
// IB_DEVICE_NAME_MAX; a "/" would be one of sysfs.
bool rdma_pattern(std::string_view value) { return matches_a_name(value, 63, "/"); }

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
const SelectorForm kInterfaceForm{
    interface_pattern, "a name of an interface has at most 15 bytes, and neither '/', ':', '%' nor blanks"};
const SelectorForm kPfNameForm{
    pf_name, "a name of an interface has 1 to 15 bytes, and neither '/', ':', '%' nor blanks"};
const SelectorForm kRdmaDeviceForm{rdma_pattern, "a name of an RDMA device has at most 63 bytes, and no '/'"};
const SelectorForm kNameForm{non_empty, "it is empty"};
const SelectorForm kAnyForm{anything, ""};

}  // namespace vfrail::plugin

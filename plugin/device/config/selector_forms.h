// The format that a selector's value must have to match any device, and its description. Pure.
#pragma once

#include <string_view>

namespace vfrail::plugin {

struct SelectorForm {
  bool (*can_match)(std::string_view value);
  const char* wanted;
};

extern const SelectorForm kPciIdForm;
extern const SelectorForm kPciAddressForm;
extern const SelectorForm kRootDeviceForm;  // of rootDevices, without its numbers
extern const SelectorForm kLinkTypeForm;
extern const SelectorForm kPkeyForm;
extern const SelectorForm kSubsystemForm;
extern const SelectorForm kMacForm;
extern const SelectorForm kPcieRootForm;
extern const SelectorForm kLinkStateForm;
extern const SelectorForm kInterfaceForm;   // of ifNames, which are patterns
extern const SelectorForm kPfNameForm;      // of pfNames, without its numbers
extern const SelectorForm kRdmaDeviceForm;  // of rdmaDevices, which are patterns
extern const SelectorForm kNameForm;        // not empty
extern const SelectorForm kAnyForm;

}  // namespace vfrail::plugin

// The PCI device of the VFs of a PF, where a document names the PF's. Pure.
#pragma once

#include <string>
#include <string_view>

namespace vfrail::plugin {

// "101b" -> "101c". Empty if it is not known.
std::string vf_device_of(std::string_view pf_device);

}  // namespace vfrail::plugin

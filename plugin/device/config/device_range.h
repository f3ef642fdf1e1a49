// Entries of pfNames and rootDevices: "<name>[#<item>{,<item>}]", item = "N" or "N-M". Pure; the name part is
// a PF's netdev or address, the numbers are VF indexes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vfrail::plugin {

// Whether one entry selects VF `index` of the PF with that `name`, which is empty for the PF itself. A VF
// whose index is not known (-1) is selected by an entry without '#'. The name is compared without regard to
// case. Items are read from left to right up to the first that is malformed, as in the peer; more than one
// '#' selects nothing.
bool device_range_selects(std::string_view entry, std::string_view name, int64_t index);

// Whether any entry selects VF `index` of that PF. The peer uses the first entry with that name only, so that
// ["a#0","a#1"] loses 1.
bool device_ranges_select(const std::vector<std::string>& entries, std::string_view name, int64_t index);

// Whether an entry selects no VF of any PF.
bool device_range_is_empty(std::string_view entry);

// What is wrong with an entry, as a sentence for a warning; empty if nothing is.
std::string device_range_fault(std::string_view entry);

}  // namespace vfrail::plugin

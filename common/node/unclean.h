// Unclean devices: those that are in the host again and could not be restored after a pod had them.
// vfrail-cni writes a file for each below its state folder; whoever decides on devices reads them.
#pragma once

#include "common/result.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace vfrail {

// Device key ("0000:03:02.1", Device::key) -> what is not restored, a sentence each.
using UncleanDevices = std::map<std::string, std::vector<std::string>>;

// The unclean devices of this boot: a boot resets every device. Those of all boots if `boot_id` is empty
// because it is unknown. A missing folder means no unclean device; an unreadable one is an error, and so is a
// file in it. A malformed file makes its device unclean, with that as the reason.
Result<UncleanDevices> read_unclean(const std::string& state_folder, std::string_view boot_id);

// The folder with a file for each, below the state folder.
std::string unclean_folder(const std::string& state_folder);

struct UncleanFile {
  std::string boot_id;
  std::vector<std::string> reasons;
};
std::string format_unclean(const UncleanFile& file);
Result<UncleanFile> parse_unclean(std::string_view text);

}  // namespace vfrail

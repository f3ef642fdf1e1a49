// The rules of udev that rename RDMA devices: rdma-core's program rdma_rename, by a rule of a distribution or
// of the administrator. Reads only.
#pragma once

#include "common/node/sys_root.h"
#include "common/result.h"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vfrail::plugin {

// Folders of rules: of files with the same name, the one in the first folder counts (udev(7)).
inline constexpr std::array kUdevRules = {"etc/udev/rules.d", "run/udev/rules.d",
                                          "usr/local/lib/udev/rules.d", "usr/lib/udev/rules.d",
                                          "lib/udev/rules.d"};

struct RenameRule {
  std::string file;  // "usr/lib/udev/rules.d/60-rdma-persistent-naming.rules"
  std::string mode;  // "NAME_FALLBACK"
};

// The renaming rules in the order in which udev applies them. No value: none of the folders is here.
Result<std::optional<std::vector<RenameRule>>> read_rename_rules(const SysRoot& sys);

// The modes of the rules in a file. Pure.
std::vector<std::string> rename_modes(std::string_view rules);
// The text of a renaming rule, without its conditions.
std::string rename_rule(const std::string& mode);

}  // namespace vfrail::plugin

// SysTree: a sysfs of a test's own, made from a manifest as write_tree() takes it. With a whole node's files
// and a scan of them: tests/plugin/tree.h.
#pragma once

#include "common/node/sys_root.h"
#include "tests/support/temp_dir.h"

#include <string_view>

namespace vfrail::test {

struct SysTree {
  explicit SysTree(std::string_view manifest) { write_tree(dir.path(), manifest); }

  TempDir dir;
  SysRoot sys{dir.path()};
};

}  // namespace vfrail::test

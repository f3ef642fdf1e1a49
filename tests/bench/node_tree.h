// A node made up in files: 8 PFs with any number of VFs, each with its netdev, RDMA device and the many other
// entries that a function's folder in sysfs has.
#pragma once

#include <cstddef>
#include <string>

namespace vfrail::bench {

// Below `root`: sys, proc and dev. Even PFs are on NUMA node 0, odd ones on 1. Throws if it cannot be
// written.
void write_node(const std::string& root, size_t vfs);

}  // namespace vfrail::bench

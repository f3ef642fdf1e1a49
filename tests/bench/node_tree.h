// A node made up in files: 8 PFs with any number of VFs, each with its netdev, RDMA device and the many other
// entries that a function's folder in sysfs has.
#pragma once

#include <cstddef>
#include <string>

namespace vfrail::bench {

// Below `root`: sys, proc and dev. Even PFs are on NUMA node 0, odd ones on 1. Throws if it cannot be
// written.
void write_node(const std::string& root, size_t vfs);

// Each PF has buses of its own: VF k is function (k + 8) % 8 of device (k + 8) / 8 % 32 of bus B + (k + 8) /
// 256.
std::string vf_address(size_t pf, size_t vf);

}  // namespace vfrail::bench

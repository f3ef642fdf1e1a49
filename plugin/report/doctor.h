// `vfrail doctor`: checks of the node, one row each: problems that an administrator should find before pods
// do. A new check is a new row. Reads, and changes nothing.
#pragma once

#include "common/json.h"
#include "common/node/sys_root.h"
#include "plugin/inventory/inventory.h"

#include <cstdint>
#include <string>
#include <vector>

namespace vfrail {

enum class Finding : uint8_t {
  good,
  advice,   // works, but not as well as it could
  fault,    // pods will fail, or do
  unknown,  // cannot be read here
};

struct CheckResult {
  Finding finding = Finding::good;
  std::string text;    // what was found
  std::string remedy;  // the remedy; empty if there is nothing to do
};

struct DoctorInput {
  const SysRoot& sys;
  const Inventory& inventory;  // with unclean devices marked, as far as they can be read
};

struct NodeCheck {
  const char* id;  // "rdma-netns-mode"
  CheckResult (*run)(const DoctorInput&);
};

const std::vector<NodeCheck>& node_checks();

struct CheckedNode {
  std::string id;
  CheckResult result;
};
std::vector<CheckedNode> check_node(const DoctorInput& input);

std::string render_checks(const std::vector<CheckedNode>& checks);
Json checks_json(const std::vector<CheckedNode>& checks);

struct DoctorOptions {
  std::string root = "/";
  bool json = false;
};

// Exit code: 0 no fault, 1 a fault, or the node cannot be read.
int doctor(const DoctorOptions& options);

}  // namespace vfrail

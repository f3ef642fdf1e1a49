// PortDetails: what claims select a port by beside the facts of a scan: the firmware of its card, its rate,
// and where the card reaches GPUs. Read for offers alone, so that nodes without claims do not read it.
#pragma once

#include "common/ids.h"
#include "common/node/sys_root.h"
#include "plugin/device/match/published_pool.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace vfrail::plugin {

struct PortDetails {
  std::string firmware = {};  // "28.39.1002", as the driver prints it; empty: not known
  uint32_t gbps = 0;          // of the link; 0: not known, or it is down
  // As find_data_direct_roots() has it; no value: the node has no Data Direct.
  std::optional<std::string> data_direct_root = {};
  bool operator==(const PortDetails&) const = default;
};
using PortsByFunction = std::map<PciAddress, PortDetails>;  // by the PF

// Brings `ports` up to date for the devices of these pools. What cannot be read now, as while a pod has the
// PF or its link is down, stays as it was: each change is a write to the API server.
void read_port_details(const SysRoot& sys, const std::vector<PublishedPool>& pools, PortsByFunction& ports);

// As a semantic version 2.0, without the leading zeros that drivers print: "16.35.306" of "16.35.0306".
// Empty: it has another form. Pure.
std::string semantic_version(const std::string& firmware);

}  // namespace vfrail::plugin

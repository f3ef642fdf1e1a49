// Renders what scan() and match() found: a table for people, JSON for programs. Pure.
#pragma once

#include "common/json.h"
#include "plugin/inventory.h"
#include "plugin/pools.h"

#include <string>
#include <vector>

namespace vfrail {

struct Report {
  const Inventory& inventory;
  const Pools& pools;
  std::vector<std::string> warnings;  // of the configuration, the scan and the matching
};

// One line a function, a line for each further reason, the pools' sizes and the warnings.
std::string render_table(const Report& report);
// {"pools":[{"resource","devices":[{"id",...}]}],"left_out":[{"id","reasons",...}],"lags":[{"name","mode","members"}],"rdma_netns_mode","warnings"}
Json render_json(const Report& report);

}  // namespace vfrail

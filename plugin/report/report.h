// Renders what scan() and match() found: a table for people, JSON for programs. Pure.
#pragma once

#include "common/json.h"
#include "plugin/inventory/inventory.h"
#include "plugin/match/pools.h"

#include <string>
#include <vector>

namespace vfrail {

struct Report {
  const Inventory& inventory;
  const Pools& pools;
  std::vector<std::string> warnings;  // of the configuration, the scan and the matching
};

struct TableOptions {
  bool all_reasons = true;  // a line for each further one; else the first, and how many more there are
  size_t width = 0;         // lines end there, in "..."; 0: wherever they do
};
// One line a function, the VFs of a PF below it and indented, then the pools' sizes and the warnings.
std::string render_table(const Report& report, const TableOptions& options = {});
// What render_json() is called in "schema"; a change that a reader has to know of gets another number.
inline constexpr const char* kInspectSchema = "vfrail.inspect/v1";
// {"schema","pools":[{"resource","devices":[{"id",...}]}],"left_out":[{"id","reasons",...}],"lags":[{"name","mode","members"}],"rdma_netns_mode","warnings"}
Json render_json(const Report& report);

}  // namespace vfrail

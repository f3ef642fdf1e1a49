// Renders a NodeReport: a table for people, JSON for programs. Pure.
#pragma once

#include "common/json.h"
#include "common/terminal.h"
#include "plugin/admin/report/node_report.h"

#include <string>

namespace vfrail::plugin {

struct TableOptions {
  Terminal terminal;
  bool headers = true;    // else the rows alone
  bool filtered = false;  // not all devices are shown, so there is no statement about all
};
// A line for each function, what belongs to a PF below it and indented; then why devices have no resource or
// are unhealthy, the sizes of the resources, and the warnings.
std::string render_table(const NodeReport& report, const TableOptions& options = {});

// What "schema_version" is in every JSON that vfrail prints (schema.json beside this file). A name that
// changes or goes makes another number; one that comes does not.
inline constexpr int kSchemaVersion = 2;

struct JsonParts {
  bool explanations = false;
  bool distances = false;
};
Json render_json(const NodeReport& report, const JsonParts& parts = {});

}  // namespace vfrail::plugin

// `vfrail doctor`: all checks of the node (check.h), and what they found, for people and for programs.
#pragma once

#include "common/json.h"
#include "plugin/doctor/check.h"

#include <string>
#include <vector>

namespace vfrail {

// All of them, by id. A new check is a new row in one of the lists.
std::vector<NodeCheck> node_checks();

struct CheckReport {
  NodeCheck check;
  CheckResults results;  // at least one
};
std::vector<CheckReport> check_node(const CheckedNode& node);

// A line for each result, its remedy below it, and how many there are of each kind.
std::string render_checks(const std::vector<CheckReport>& reports);
Json checks_json(const std::vector<CheckReport>& reports);

struct DoctorOptions {
  std::string root = "/";
  bool json = false;
  Finding fail_on = Finding::fault;
};

// Exit code: 0; 1: a finding of `fail_on` or worse, or the node cannot be read.
int doctor(const DoctorOptions& options);

}  // namespace vfrail

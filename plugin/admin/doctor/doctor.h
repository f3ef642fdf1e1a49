// `vfrail doctor`: all checks of the node (check.h), and what they found, for people and for programs.
#pragma once

#include "common/json.h"
#include "plugin/admin/doctor/check.h"

#include <string>
#include <vector>

namespace vfrail::plugin {

// All checks of the node, by id. A new check is a new row in one of the lists.
std::vector<NodeCheck> node_checks();

std::vector<CheckReport> check_node(const CheckedNode& node);
// The whole answer of `-o json`.
Json doctor_json(const std::vector<CheckReport>& reports);

struct DoctorOptions {
  std::string root = "/";
  bool json = false;
  bool all = false;  // also what is ok or not applicable
  Finding fail_on = Finding::fault;
  std::string config_file = {};  // empty: none to check
  std::string resource_prefix = kPeersPrefix;
  std::string kubelet_root = kKubeletRoot;
  std::string cni_bin_dir = kCniFolder;
};

// Exit code: 0; 1: a finding of `fail_on` or worse, or the node cannot be read; 2: the configuration is
// wrong.
int doctor(const DoctorOptions& options);
// What `-o json` prints, for a program that asks this one. With a configuration that is wrong the checks that
// need none are in it.
Result<std::string> doctor_page(const DoctorOptions& options);

}  // namespace vfrail::plugin

// What a way takes before pods can use it, with the commands. Pure.
#pragma once

#include "plugin/admin/advise/plan.h"

#include <string_view>
#include <vector>

namespace vfrail::plugin {

// The functions of one fabric that can serve pods.
struct Members {
  std::vector<const DeviceFacts*> cards;  // PFs that are not the host's
  std::vector<const DeviceFacts*> vfs;

  // All of it, to this virtual machine: SR-IOV is another machine's.
  bool passed_through() const;
};

// Pods that share a device use the addresses of its interface, which stays in the host.
bool takes_hosts_address(Transport fabric);

std::vector<Step> steps_of(const PlanFacts& facts, const Members& members, Transport fabric, WayKind kind);

// What a check of `vfrail doctor` found first; null if it did not run.
const CheckResult* find_result(const PlanFacts& facts, std::string_view id);

}  // namespace vfrail::plugin

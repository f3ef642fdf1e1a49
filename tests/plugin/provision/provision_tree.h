// The writes that `vfrail provision` plans for a tree of tests/plugin/tree.h.
#pragma once

#include "plugin/device/config/formats/vfs.h"
#include "plugin/provision/node.h"
#include "plugin/provision/plan.h"
#include "tests/plugin/tree.h"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

namespace vfrail::test {

inline VfsConfig vfs_config(const std::string& text) {
  auto config = parse_vfs(text, {.file = "c.yaml"});
  if (!config) FAIL(config.error().text);
  return *std::move(config);
}

inline ProvisionFacts facts_of(const Tree& tree, const UsersById& users = {}) {
  const SysRoot sys = tree.sys();
  const Inventory inventory = tree.scan();
  const AutoprobeRecords records(tree.root() + "/run/vfrail/provision", "boot");
  auto facts = read_provision_facts({.sys = sys,
                                     .host = nullptr,
                                     .inventory = inventory,
                                     .users = users,
                                     .pods_unknown = "",
                                     .records = records,
                                     .serials = true});
  if (!facts) FAIL(facts.error().text);
  return *std::move(facts);
}

inline std::string lines_of_plan(const ProvisionPlan& plan) {
  std::string out;
  for (const PfPlan& pf : plan.pfs) {
    for (const ProvisionStep& step : pf.steps) out += step_text(pf, step) + "\n";
    for (const Obstacle& one : pf.obstacles) out += "! " + one.text + "\n";
  }
  return out;
}

inline std::string planned(const Tree& tree, const std::string& config, const UsersById& users = {}) {
  return lines_of_plan(provision_plan(vfs_config(config), facts_of(tree, users)));
}

}  // namespace vfrail::test

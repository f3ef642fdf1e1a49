// The plan of a captured node, with the facts that it refers to.
#pragma once

#include "plugin/admin/plan/plan.h"
#include "plugin/admin/plan/render_plan.h"
#include "plugin/device/config/formats/parse_config.h"
#include "tests/plugin/tree.h"

#include <string>

#include <catch2/catch.hpp>

namespace vfrail::test {

inline PlanFacts plan_facts(const Tree& tree, const std::string& node = "NODE") {
  const SysRoot sys = tree.sys();
  PlanFacts facts;
  facts.inventory = tree.scan();
  facts.hardware = read_hardware(sys, {}, facts.inventory);
  facts.checks = check_node({sys, facts.inventory, sys});
  facts.roots = {node};
  return facts;
}

struct Planned {
  PlanFacts facts;
  std::string text;
  Json json;
  Json config;
  std::vector<FabricPlan> fabrics;
  std::vector<OtherCard> others;

  explicit Planned(const Tree& tree, const std::string& config_text = "", const std::string& name = "")
      : facts(plan_facts(tree)) {
    facts.name = name;
    if (!config_text.empty()) {
      auto parsed = parse_config(config_text, {.file = "config.json"});
      if (!parsed) FAIL(parsed.error().text);
      facts.config = *std::move(parsed);
      facts.config_file = "config.json";
    }
    const Plan plan = make_plan(facts);
    text = render_plan(plan);
    json = plan_json(plan);
    config = plan.config;
    fabrics = plan.fabrics;
    others = plan.others;
  }

  bool says(const std::string& part) const { return text.find(part) != std::string::npos; }
  const FabricPlan& fabric() const {
    REQUIRE(fabrics.size() == 1);
    return fabrics[0];
  }
};

inline std::vector<std::string> plan_devices(const Way& way) {
  std::vector<std::string> out;
  for (const PoolDevice* device : way.devices()) out.push_back(device->id());
  return out;
}

}  // namespace vfrail::test

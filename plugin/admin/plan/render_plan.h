// A Plan for people and for programs. Pure.
#pragma once

#include "common/json.h"
#include "plugin/admin/plan/plan.h"

#include <string>

namespace vfrail::plugin {

// `width` of the lines; 0: they end where they end.
std::string render_plan(const Plan& plan, size_t width = 0);
Json plan_json(const Plan& plan);

}  // namespace vfrail::plugin

// Renders the traces of selections: text for people, JSON for programs. Pure.
#pragma once

#include "common/json.h"
#include "plugin/device/match/selection_trace.h"

#include <string>
#include <vector>

namespace vfrail::plugin {

// A paragraph for each function: what it is, the pools that have it, each resource's answer with every field
// of its selectors, and what else is to be known.
std::string render_traces(const std::vector<FunctionTrace>& traces, const Inventory& inventory);
// "explanation" of a device in the JSON: {"nearest_miss","remarks","resources":[{"resource","match",
// "claimed_by","fault","reasons","selectors":[[{"field","matches","wanted","found"}]]}]}.
Json trace_json(const FunctionTrace& traced);

}  // namespace vfrail::plugin

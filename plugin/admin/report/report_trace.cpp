#include "plugin/admin/report/report_trace.h"

#include "common/escape.h"
#include "common/text.h"
#include "plugin/admin/report/report_distance.h"

namespace vfrail::plugin {

namespace {

const char* match_name(MatchKind kind) {
  switch (kind) {
    case MatchKind::selected:
      return "selected";
    case MatchKind::other_type:
      return "other_type";
    case MatchKind::excluded:
      return "excluded";
    case MatchKind::no_selector:
      return "no_selector";
    case MatchKind::host_use:
      break;
  }
  return "host_use";
}

// "VF 2 of eth1 (0000:41:00.0)", "sub-function 88 of p0 (0000:03:00.0)", "PF".
std::string origin(const DeviceFacts& function) {
  if (!function.pf) return function.kind == FunctionKind::accelerator ? "accelerator" : "PF";
  std::string out = "VF";
  if (function.kind == FunctionKind::sub_function)
    out = "sub-function " + (function.sf_number ? std::to_string(*function.sf_number) : std::string());
  else if (function.vf_index >= 0)
    out += " " + std::to_string(function.vf_index);
  return out + " of " +
         (function.pf_name.empty() ? function.pf->text()
                                   : function.pf_name + " (" + function.pf->text() + ")");
}

std::string title(const DeviceFacts& function) {
  std::vector<std::string> parts = {origin(function), function.vendor + ":" + function.device};
  if (function.driver.is_bound()) parts.push_back(function.driver.name());
  for (const Netdev& netdev : function.netdevs) parts.push_back(netdev.name);
  for (const RdmaFacts& rdma : function.rdma) parts.push_back(rdma.name);
  if (!function.link_type.empty()) parts.push_back(function.link_type);
  if (function.numa_node) parts.push_back("NUMA node " + std::to_string(*function.numa_node));
  return escaped(function.id.text() + "  " + joined(parts)) + "\n";
}

// "; "-joined reasons, and behind them what `vfrail explain` explains.
std::string with_ids(const std::string& text, const ResourceTrace& resource) {
  return text + " [" + joined(resource.ids()) + "]";
}

std::string headline(const ResourceTrace& resource) {
  switch (resource.result.kind) {
    case MatchKind::selected:
      if (!resource.claimed_by.empty())
        return with_ids("selected, but claimed by " + resource.claimed_by + " before", resource);
      return resource.fault.empty() ? "has it"
                                    : with_ids("has it, unhealthy: " + resource.fault.text, resource);
    case MatchKind::no_selector:
      return "no selector matches";
    case MatchKind::other_type:
    case MatchKind::excluded:
    case MatchKind::host_use:
      break;
  }
  return with_ids(joined(texts_of(resource.result.reasons), "; "), resource);
}

// "- vendors: vendor is 8086, want one of [15b3]", "+ linkTypes: link type is ether, want one of [ether]".
std::string field_line(const FieldMatch& field) {
  return std::string("      ") + (field.matches ? "+ " : "- ") + field.field + ": " + escaped(field.text()) +
         "\n";
}

std::string resource_text(const ResourceTrace& resource) {
  std::string out = "  " + resource.resource + ": " + escaped(headline(resource)) + "\n";
  // Other kinds of functions have no comparison.
  if (resource.result.kind == MatchKind::other_type) return out;
  for (size_t i = 0; i < resource.selectors.size(); ++i) {
    if (resource.selectors.size() > 1) out += "    selectors[" + std::to_string(i) + "]\n";
    if (resource.selectors[i].empty()) out += "      + {} selects everything\n";
    for (const FieldMatch& field : resource.selectors[i]) out += field_line(field);
  }
  return out;
}

Json selectors_json(const ResourceTrace& resource) {
  Json out = Json::array();
  for (const auto& fields : resource.selectors) {
    Json list = Json::array();
    for (const FieldMatch& field : fields) {
      list.push(Json::object()
                    .set("field", field.field)
                    .set("matches", field.matches)
                    .set("wanted", field.wanted)
                    .set("found", field.found));
    }
    out.push(std::move(list));
  }
  return out;
}

Json resource_json(const ResourceTrace& resource) {
  return Json::object()
      .set("resource", resource.resource)
      .set("match", match_name(resource.result.kind))
      .set("claimed_by", resource.claimed_by)
      .set("fault", resource.fault.text)
      .set("reasons", Json(texts_of(resource.result.reasons)))
      .set("ids", Json(resource.ids()))
      .set("selectors", selectors_json(resource));
}

}  // namespace

std::string render_traces(const std::vector<FunctionTrace>& traces, const Inventory& inventory) {
  std::string out;
  for (const FunctionTrace& traced : traces) {
    out += (out.empty() ? "" : "\n") + title(*traced.function);
    out +=
        "  " + (traced.pools.empty() ? std::string("in no resource") : "in " + joined(traced.pools)) + "\n";
    if (!traced.nearest_miss.empty()) out += "  nearest to a match: " + escaped(traced.nearest_miss) + "\n";
    for (const ResourceTrace& resource : traced.resources) out += resource_text(resource);
    for (const HostUseFact& fact : traced.function->host_use)
      out += "  the host uses it: " + escaped(fact.what) + "\n";
    for (const std::string& remark : traced.remarks) out += "  " + escaped(remark) + "\n";
    out += "  distance: " + describe_gpus(*traced.function, inventory.gpus) + "\n";
  }
  return out;
}

Json trace_json(const FunctionTrace& traced) {
  Json resources = Json::array();
  for (const ResourceTrace& resource : traced.resources) resources.push(resource_json(resource));
  return Json::object()
      .set("nearest_miss", traced.nearest_miss)
      .set("remarks", Json(traced.remarks))
      .set("resources", std::move(resources));
}

}  // namespace vfrail::plugin

#include "plugin/kube/view/view_text.h"

#include "common/escape.h"
#include "common/terminal.h"
#include "common/text.h"
#include "plugin/admin/console/table.h"

#include <algorithm>
#include <map>

namespace vfrail::kube {

namespace {

using plugin::Cell;
using plugin::Column;

using Cells = std::vector<std::vector<Cell>>;

std::string table(const std::vector<Column>& columns, const Cells& rows, const TextLayout& layout) {
  std::vector<std::string> hidden;
  std::string out = plugin::draw(
      columns, rows, {.width = layout.wide ? 0 : layout.width, .headers = layout.headers, .colours = false},
      hidden);
  if (!hidden.empty()) out += "not shown for want of room, see -o wide: " + joined(hidden) + "\n";
  return out;
}

// Those with the same reason are one line: of 500 nodes an administrator without a right has one, not 500.
std::string gaps_text(const std::vector<Gap>& gaps) {
  std::map<std::string, std::vector<std::string>> by_reason;
  for (const Gap& gap : gaps) by_reason[gap.why].push_back(gap.what);
  std::string out;
  for (const auto& [why, names] : by_reason)
    out += "not in this view: " + escaped(first_few(names) + ": " + why) + "\n";
  return out;
}

// "no ..." is known only if what it is about could be read: else the gaps alone.
std::string nothing_text(const ClusterView& view, std::initializer_list<const char*> kinds,
                         const char* line) {
  const bool unread = std::any_of(view.gaps.begin(), view.gaps.end(), [&](const Gap& gap) {
    return std::find(kinds.begin(), kinds.end(), gap.what) != kinds.end();
  });
  return (unread ? "" : std::string(line) + "\n") + gaps_text(view.gaps);
}

std::string state_of(const NodeView& node) {
  if (!node.ready) return node.cordoned ? "NotReady,cordoned" : "NotReady";
  return node.cordoned ? "Ready,cordoned" : "Ready";
}

std::string unhealthy_text(const NodeResource& resource, bool all) {
  if (!resource.not_published.empty()) return "not published: " + resource.not_published;
  if (resource.unhealthy.empty()) return "";
  std::vector<std::string> out;
  for (const UnhealthyDevice& device : resource.unhealthy) {
    out.push_back(device.id + ": " + device.reason);
    if (!all) break;
  }
  const size_t more = resource.unhealthy.size() - out.size();
  return joined(out, "; ") + (more == 0 ? "" : " and " + std::to_string(more) + " more");
}

std::string requests_text(const ResourceCounts& requests) {
  std::vector<std::string> out;
  if (requests.empty()) return "by its claims";
  for (const auto& [resource, count] : requests) out.push_back(std::to_string(count) + " " + resource);
  return joined(out);
}

std::string number_text(const std::optional<uint64_t>& number) {
  return number ? std::to_string(*number) : std::string();
}

// A line that begins behind `indent` blanks; where it does not fit into the width, its rest stands below it.
std::string paragraph(const std::string& text, size_t indent, const TextLayout& layout) {
  const size_t width = layout.wide || layout.width <= indent ? 0 : layout.width - indent;
  return std::string(indent, ' ') + wrapped(escaped(text), width, indent + 4) + "\n";
}

std::string text_of(const SameFinding& finding, const TextLayout& layout) {
  const std::string nodes = layout.wide ? joined(finding.nodes, " ") : first_few(finding.nodes);
  return paragraph(nodes + ": " + finding.text, 4, layout) +
         (finding.remedy.empty() ? "" : paragraph(finding.remedy, 8, layout));
}

}  // namespace

std::string nodes_text(const ClusterView& view, const TextLayout& layout) {
  Cells rows;
  for (const NodeView& node : view.nodes) {
    for (const NodeResource& resource : node.resources) {
      const std::string unhealthy =
          node.answered ? std::to_string(resource.unhealthy.size()) : std::string("?");
      rows.push_back({{node.name},
                      {state_of(node)},
                      {resource.name + (resource.by_claims ? " (DRA)" : "")},
                      {std::to_string(resource.capacity)},
                      {std::to_string(resource.allocatable)},
                      {std::to_string(resource.in_use)},
                      {std::to_string(resource.free())},
                      {unhealthy},
                      {unhealthy_text(resource, layout.wide)}});
    }
  }
  if (rows.empty()) return nothing_text(view, {"nodes", "pods"}, "no node offers a resource of vfrail");
  return table({{"NODE", 0},
                {"STATE", 3},
                {"RESOURCE", 1},
                {"CAPACITY", 4},
                {"ALLOCATABLE", 5},
                {"IN USE", 2},
                {"FREE", 1},
                {"UNHEALTHY", 2},
                {"REASON", 6, 60}},
               rows, layout) +
         gaps_text(view.gaps);
}

// As `vfrail top` has them; bytes here, bits in the table.
constexpr Count kShownCounts[] = {Count::rdma_rx_bytes, Count::rdma_tx_bytes, Count::net_rx_bytes,
                                  Count::net_tx_bytes};

std::string devices_text(const ClusterView& view, const TextLayout& layout) {
  Cells rows;
  for (const DeviceView& device : view.devices) {
    std::vector<DeviceHolder> holders = device.holders;
    if (holders.empty()) holders.emplace_back();  // a line for the device
    for (const DeviceHolder& holder : holders) {
      std::vector<Cell>& row = rows.emplace_back();
      row = {{device.node},       {device.id},      {device.resource}, {device.state},
             {holder.pod.text()}, {holder.address}, {device.port}};
      if (view.has_traffic) {
        // Of a device that several pods share it is that of all of them.
        for (const Count count : kShownCounts)
          row.push_back(
              {bit_rate_text(device.traffic ? (*device.traffic)[static_cast<size_t>(count)] : std::nullopt)});
      }
      row.push_back({device.fault});
    }
  }
  if (rows.empty()) return nothing_text(view, {"nodes", "pods"}, "no device of vfrail is known");
  std::vector<Column> columns = {{"NODE", 0}, {"DEVICE", 0},  {"RESOURCE", 3}, {"STATE", 1},
                                 {"POD", 1},  {"ADDRESS", 2}, {"PORT", 4}};
  if (view.has_traffic)
    columns.insert(columns.end(), {{"RDMA RX", 1}, {"RDMA TX", 1}, {"NET RX", 2}, {"NET TX", 2}});
  columns.push_back({"FAULT", 5, 60});
  return table(columns, rows, layout) + gaps_text(view.gaps);
}

std::string pods_text(const ClusterView& view, const TextLayout& layout) {
  Cells rows;
  std::string waiting;
  for (const PodView& pod : view.pods) {
    const std::string devices = layout.wide ? joined(pod.devices, ",") : first_few(pod.devices);
    rows.push_back({{pod.name.text()},
                    {pod.node},
                    {pod.phase},
                    {requests_text(pod.requests)},
                    {devices},
                    {joined(pod.addresses, "; ")}});
    if (pod.reason.empty()) continue;
    waiting += paragraph(pod.name.text() + " waits: " + pod.reason, 0, layout);
    for (const std::string& line : pod.explanation) waiting += paragraph(line, 4, layout);
  }
  if (rows.empty()) return nothing_text(view, {"pods"}, "no pod has or waits for a device of vfrail");
  return table({{"POD", 0}, {"NODE", 1}, {"PHASE", 1}, {"REQUESTS", 2}, {"DEVICES", 3, 40}, {"ADDRESSES", 3}},
               rows, layout) +
         waiting + gaps_text(view.gaps);
}

std::string networks_text(const ClusterView& view, const TextLayout& layout) {
  Cells rows;
  for (const NetworkView& network : view.networks) {
    rows.push_back({{network.name.text()},
                    {network.type},
                    {network.resource},
                    {std::to_string(network.attachments)},
                    {network.ipam},
                    {number_text(network.addresses)},
                    {number_text(network.addresses_left)},
                    {network.remark}});
  }
  if (rows.empty())
    return nothing_text(view, {"network-attachment-definitions"}, "no NetworkAttachmentDefinition");
  return table({{"NETWORK", 0},
                {"TYPE", 1},
                {"RESOURCE", 1},
                {"ATTACHMENTS", 2},
                {"IPAM", 3},
                {"ADDRESSES", 4},
                {"LEFT", 3},
                {"REMARK", 5, 60}},
               rows, layout) +
         gaps_text(view.gaps);
}

std::string findings_text(const ClusterFindings& findings, const TextLayout& layout) {
  std::string out;
  for (const FindingGroup& group : findings.groups) {
    out += std::string(word_of(group.finding)) + "  " + escaped(group.id + "  " + group.name) + ": " +
           counted(group.count_nodes(), findings.member) + "\n";
    for (const SameFinding& finding : group.findings) out += text_of(finding, layout);
  }
  if (findings.groups.empty() && findings.nodes > 0) out += "nothing found\n";
  return out + counted(findings.nodes, findings.member) + " checked\n" + gaps_text(findings.gaps);
}

}  // namespace vfrail::kube

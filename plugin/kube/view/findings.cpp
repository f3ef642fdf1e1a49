#include "plugin/kube/view/findings.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace vfrail::kube {

namespace {

// No value: a word of another version, or what is not shown.
std::optional<Finding> shown_finding(const std::string& word) {
  for (const Finding finding : {Finding::fault, Finding::advice, Finding::note, Finding::unknown}) {
    if (word == word_of(finding)) return finding;
  }
  return std::nullopt;
}

struct WorstFirst {
  bool operator()(const std::pair<Finding, std::string>& a, const std::pair<Finding, std::string>& b) const {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  }
};
using Groups = std::map<std::pair<Finding, std::string>, FindingGroup, WorstFirst>;

void add_finding(const std::string& node, const Json& check, Groups& groups) {
  const auto finding = shown_finding(text_at(check, {"finding"}));
  if (!finding) return;
  const std::string id = text_at(check, {"id"});
  FindingGroup& group = groups[{*finding, id}];
  group.id = id;
  group.name = text_at(check, {"name"});
  group.finding = *finding;
  const std::string text = text_at(check, {"text"});
  auto same = std::find_if(group.findings.begin(), group.findings.end(),
                           [&](const SameFinding& one) { return one.text == text; });
  if (same == group.findings.end())
    same = group.findings.insert(same, SameFinding{text, text_at(check, {"remedy"}), {}});
  same->nodes.push_back(node);
}

}  // namespace

size_t FindingGroup::count_nodes() const {
  std::set<std::string> out;
  for (const SameFinding& one : findings) out.insert(one.nodes.begin(), one.nodes.end());
  return out.size();
}

ClusterFindings group_findings(const ClusterFacts& facts, const ViewFilter& filter) {
  std::vector<const NodePage*> pages;
  for (const NodePage& page : facts.pages) {
    if (filter.node.empty() || page.node == filter.node) pages.push_back(&page);
  }
  std::sort(pages.begin(), pages.end(),
            [](const NodePage* a, const NodePage* b) { return a->node < b->node; });
  Groups groups;
  for (const NodePage* page : pages) {
    for (const Json& check : list_at(page->json, {"checks"})) add_finding(page->node, check, groups);
  }
  ClusterFindings out;
  out.nodes = pages.size();
  out.gaps = facts.gaps;
  for (auto& [key, group] : groups) {
    std::stable_sort(
        group.findings.begin(), group.findings.end(),
        [](const SameFinding& a, const SameFinding& b) { return a.nodes.size() > b.nodes.size(); });
    out.groups.push_back(std::move(group));
  }
  return out;
}

}  // namespace vfrail::kube

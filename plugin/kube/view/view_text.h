// The view for people: tables, and below them what is not in the view. Pure.
#pragma once

#include "plugin/kube/view/cluster_view.h"
#include "plugin/kube/view/findings.h"

#include <cstddef>
#include <string>
#include <vector>

namespace vfrail::kube {

struct TextLayout {
  size_t width = 0;   // columns of the terminal; 0: lines end where they end
  bool wide = false;  // all columns
  bool headers = true;
};

std::string nodes_text(const ClusterView& view, const TextLayout& layout);
std::string devices_text(const ClusterView& view, const TextLayout& layout);
std::string pods_text(const ClusterView& view, const TextLayout& layout);
std::string networks_text(const ClusterView& view, const TextLayout& layout);
std::string findings_text(const ClusterFindings& findings, const TextLayout& layout);

}  // namespace vfrail::kube

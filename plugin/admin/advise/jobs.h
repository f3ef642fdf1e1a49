// Pods and jobs of each kind, as objects of Kubernetes. A new kind is a row of the table in jobs.cpp. Pure.
#pragma once

#include "plugin/documents/pod_parts.h"

#include <string>
#include <vector>

namespace vfrail::plugin {

struct JobKind {
  const char* name;   // "pytorch-job"
  const char* about;  // for the text above it
  std::vector<Json> (*make)(const PodNeeds&);
  bool needs_gpu;  // its program does nothing without one
};

const std::vector<JobKind>& job_kinds();

}  // namespace vfrail::plugin

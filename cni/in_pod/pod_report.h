// What `vfrail-check` prints: all checks of the pod (pod_check.h), and what to try next.
#pragma once

#include "cni/in_pod/checks/pod_check.h"
#include "common/json.h"

#include <string>
#include <vector>

namespace vfrail::pod {

inline constexpr int kPodReportVersion = 1;

// All of them, by id. A new check is a new row in one of the lists.
PodChecks pod_checks();
// Those for which nothing has to be asked for.
std::vector<CheckReport> check_pod(const CheckedPod& pod);
// Of CheckedPod::traffic alone.
std::vector<CheckReport> check_traffic_of(const CheckedPod& pod);

// What the files of a pod, or of a copy of one, say; `kernel` is null for a copy, whose network is not here.
// The probes are the caller's.
CheckedPod read_pod(const SysRoot& sys, PodEnvironment environment, Kernel* kernel);

// The measurement of each rail between two pods, as perftest is called for it: the server's line, and the
// client's with the server's address.
std::vector<std::string> perftest_lines(const CheckedPod& pod);
// The line that NCCL prints here with NCCL_DEBUG=INFO; empty if it cannot be computed.
std::string nccl_line(const CheckedPod& pod);

std::string render_pod(const CheckedPod& pod, const std::vector<CheckReport>& reports,
                       const CheckLayout& layout);
Json pod_json(const CheckedPod& pod, const std::vector<CheckReport>& reports);

// The table of all checks, for the document.
std::string pod_checks_document();

}  // namespace vfrail::pod

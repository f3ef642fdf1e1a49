// The commands of `kubectl vfrail` that show the cluster: nodes, devices, pods, networks, doctor. They ask,
// and change nothing. A value instead of output: main prints it.
#pragma once

#include "plugin/kube/view/cluster_view.h"
#include "plugin/kube/view/findings.h"
#include "plugin/kube/view/gather.h"

#include <cstdint>
#include <string>

namespace vfrail::kube {

struct ViewOptions {
  enum class Output : uint8_t { table, wide, json, yaml };
  Output output = Output::table;
  bool headers = true;
  size_t width = 0;  // of the terminal; 0: lines end where they end
  ViewFilter filter = {};
  bool traffic = false;  // of devices: their counters are read twice; with Output::wide always
};

struct ViewAnswer {
  int code = 0;  // 0 done; 1 nothing could be read, or (doctor) there is a fault
  std::string text;
};

ViewAnswer show_nodes(const OpenReader& open, const ViewOptions& options);
ViewAnswer show_devices(const OpenReader& open, const ViewOptions& options);
ViewAnswer show_pods(const OpenReader& open, const ViewOptions& options);
ViewAnswer show_networks(const OpenReader& open, const ViewOptions& options);
ViewAnswer show_findings(const OpenReader& open, const ViewOptions& options);
// Exit code 1 with a fault.
ViewAnswer findings_answer(const ClusterFindings& findings, const ViewOptions& options);

}  // namespace vfrail::kube

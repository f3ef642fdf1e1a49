#include "plugin/report/doctor.h"

#include "common/escape.h"
#include "common/text.h"
#include "plugin/allocate/cdi_runtime.h"
#include "plugin/report/exit.h"
#include "plugin/report/report.h"
#include "plugin/report/scan_root.h"

#include <algorithm>
#include <iostream>

namespace vfrail {

namespace {

bool has_rdma(const Inventory& inventory) {
  return std::any_of(inventory.functions.begin(), inventory.functions.end(),
                     [](const PciFunction& function) { return function.rdma_capable; });
}

// In shared mode an RDMA device cannot move (rdma_dev_change_netns() of the kernel): a pod reaches it through
// its character devices alone, and sees the devices of all others.
CheckResult check_rdma_mode(const DoctorInput& input) {
  if (!has_rdma(input.inventory)) return {Finding::good, "no RDMA device on this node", ""};
  if (!input.inventory.rdma_netns_mode) return {Finding::unknown, "the kernel does not report the mode", ""};
  if (*input.inventory.rdma_netns_mode == RdmaNetnsMode::exclusive)
    return {Finding::good, "exclusive: a pod has its RDMA device alone", ""};
  return {Finding::advice, "shared: every pod sees the RDMA devices of all, and GIDs of other namespaces",
          "boot with ib_core.netns_mode=0 for a pod to have its RDMA device alone"};
}

CheckResult check_cdi(const DoctorInput& input) {
  const auto runtime = find_cdi_runtime(input.sys);
  if (!runtime) return {Finding::unknown, runtime.error().text, ""};
  switch (runtime->support) {
    case CdiSupport::yes:
      return {Finding::good, runtime->why, ""};
    case CdiSupport::unknown:
      return {Finding::unknown, runtime->why, ""};
    case CdiSupport::no:
      break;
  }
  const bool exclusive = input.inventory.rdma_netns_mode == RdmaNetnsMode::exclusive;
  if (!exclusive) return {Finding::good, runtime->why + "; the RDMA mode does not need CDI", ""};
  return {Finding::advice,
          runtime->why + ": an RDMA device that is renumbered by its move makes the pod fail",
          "enable CDI in the container runtime and use --use-cdi"};
}

CheckResult check_devices(const DoctorInput& input) {
  std::vector<std::string> bad;
  for (const UnreadDevice& device : input.inventory.unread)
    bad.push_back(device.id + " cannot be read: " + device.reason);
  for (const PciFunction& function : input.inventory.functions) {
    if (!function.unclean.empty()) bad.push_back(function.id.text() + ": " + function.unclean);
  }
  if (bad.empty()) return {Finding::good, "every device can be read, none keeps anything of a pod", ""};
  return {Finding::fault, joined(bad, "; "),
          "run vfrail-cni sweep; binding the driver again makes the interface anew"};
}

const char* word_of(Finding finding) {
  switch (finding) {
    case Finding::good:
      return "ok";
    case Finding::advice:
      return "advice";
    case Finding::fault:
      return "fault";
    case Finding::unknown:
      break;
  }
  return "unknown";
}

}  // namespace

const std::vector<NodeCheck>& node_checks() {
  static const std::vector<NodeCheck> kChecks = {
      {"rdma-netns-mode", check_rdma_mode},
      {"container-runtime-cdi", check_cdi},
      {"devices", check_devices},
  };
  return kChecks;
}

std::vector<CheckedNode> check_node(const DoctorInput& input) {
  std::vector<CheckedNode> out;
  for (const NodeCheck& check : node_checks()) out.push_back({check.id, check.run(input)});
  return out;
}

std::string render_checks(const std::vector<CheckedNode>& checks) {
  std::string out;
  for (const auto& [id, result] : checks) {
    out += std::string(word_of(result.finding)) + " " + id + ": " + escaped(result.text) + "\n";
    if (!result.remedy.empty()) out += "  remedy: " + escaped(result.remedy) + "\n";
  }
  return out;
}

Json checks_json(const std::vector<CheckedNode>& checks) {
  Json list = Json::array();
  for (const auto& [id, result] : checks) {
    list.push(Json::object()
                  .set("id", id)
                  .set("finding", word_of(result.finding))
                  .set("text", result.text)
                  .set("remedy", result.remedy));
  }
  return Json::object().set("schema_version", kSchemaVersion).set("checks", std::move(list));
}

int doctor(const DoctorOptions& options) {
  const auto inventory = scan_root(options.root);
  if (!inventory) {
    return fail(kFailed, inventory.error());
  }
  const SysRoot sys(options.root);
  const auto checks = check_node({sys, *inventory});
  std::cout << (options.json ? well_formed(checks_json(checks).pretty()) + "\n" : render_checks(checks));
  std::cout.flush();
  const bool fault = std::any_of(checks.begin(), checks.end(),
                                 [](const CheckedNode& one) { return one.result.finding == Finding::fault; });
  return fault || !std::cout ? 1 : 0;
}

}  // namespace vfrail

#include "plugin/admin/doctor/doctor.h"

#include "common/terminal.h"
#include "common/text.h"
#include "plugin/admin/console/exit.h"
#include "plugin/admin/report/report.h"
#include "plugin/admin/report/scan_root.h"
#include "plugin/device/config/formats/file.h"

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <string_view>

#include <linux/netlink.h>

namespace vfrail::plugin {

namespace {

// The kernel answers for the interfaces of our own network namespace, which may not be the host's.
Result<ReadDcb> open_dcb(const std::string& root) {
  if (!is_live(root) || !TRY(SysRoot().exists(kOfHostAlone))) return ReadDcb();
  auto socket = std::make_shared<NlSocket>(TRY(NlSocket::open(NETLINK_ROUTE), "open netlink"));
  return ReadDcb([socket](const std::string& interface) { return read_dcb(*socket, interface); });
}

}  // namespace

std::vector<NodeCheck> node_checks() {
  std::vector<NodeCheck> out;
  for (const NodeChecks* checks :
       {&kernel_checks(), &driver_checks(), &port_checks(), &vf_checks(), &fabric_checks(),
        &transport_checks(), &log_checks(), &placement_checks(), &config_space_checks(), &resource_checks(),
        &kubernetes_checks(), &dra_checks()})
    out.insert(out.end(), checks->begin(), checks->end());
  std::sort(out.begin(), out.end(), [](const NodeCheck& a, const NodeCheck& b) {
    return std::string_view(a.id) < std::string_view(b.id);
  });
  return out;
}

std::vector<CheckReport> check_node(const CheckedNode& node) {
  std::vector<CheckReport> out;
  for (const NodeCheck& check : node_checks()) out.push_back(run_check(check, node));
  return out;
}

Json doctor_json(const std::vector<CheckReport>& reports) {
  return Json::object().set("schema_version", kSchemaVersion).set("checks", checks_json(reports));
}

namespace {

// No value: there is none to check.
std::optional<Result<Config>> load_own_config(const DoctorOptions& options) {
  if (options.config_file.empty()) return std::nullopt;
  return load_config({.file = options.config_file, .default_prefix = options.resource_prefix});
}

Result<std::vector<CheckReport>> check_root(const DoctorOptions& options,
                                            const std::optional<Result<Config>>& config) {
  const auto inventory = TRY(scan_root(options.root));
  auto dcb = TRY(open_dcb(options.root));
  const SysRoot sys(options.root);
  const SysRoot own;
  return check_node({.sys = sys,
                     .inventory = inventory,
                     .kernel = is_live(options.root) ? own : sys,
                     .config = config && *config ? &**config : nullptr,
                     .read_dcb = std::move(dcb),
                     .cni_state = cni_state_dir(options.root),
                     .kubelet_root = options.kubelet_root,
                     .cni_bin_dir = options.cni_bin_dir,
                     .run_dir = run_dir(options.root)});
}

std::string page_of(const std::vector<CheckReport>& reports) {
  return well_formed(doctor_json(reports).pretty()) + "\n";
}

}  // namespace

int doctor(const DoctorOptions& options) {
  // The checks that need none are of use without it: they are made, and the error is the last line.
  const auto config = load_own_config(options);
  const auto made = check_root(options, config);
  if (!made) return fail(kFailed, made.error());
  const std::vector<CheckReport>& reports = *made;
  const CheckLayout layout{.all = options.all, .width = find_terminal().width};
  std::cout << (options.json ? page_of(reports) : render_checks(reports, layout));
  std::cout.flush();
  if (config && !*config) return fail(kWrongConfig, config->error());
  return reaches(reports, options.fail_on) || !std::cout ? 1 : 0;
}

Result<std::string> doctor_page(const DoctorOptions& options) {
  return page_of(TRY(check_root(options, load_own_config(options))));
}

}  // namespace vfrail::plugin

#include "plugin/admin/report/scan_root.h"

#include "common/node/attachments.h"
#include "plugin/device/inventory/host_kernel.h"
#include "plugin/device/inventory/host_view.h"
#include "plugin/device/inventory/unclean_facts.h"
#include "plugin/device/provisioning/withheld.h"

namespace vfrail::plugin {

namespace {

constexpr const char* kMounted = "/host";
// Of vfrail-cni, where its records are by default.
constexpr const char* kCniStateDir = "var/lib/cni/vfrail";
constexpr const char* kRunDir = "run/vfrail";

// In the plugin's container the host's folder has its own path, as `serve` wants it, and is not below /host.
std::string own_folder(const std::string& root, const std::string& folder) {
  const SysRoot sys(root);
  const auto below = sys.exists(folder);
  const bool mounted_beside = root == kMounted && below.ok() && !*below;
  return mounted_beside ? "/" + folder : sys.path(folder);
}

Result<> add_provisioning(const std::string& root, Inventory& inventory) {
  const ProgressRecords records(run_dir(root) + "/" + kProvisionFolder, TRY(find_boot_id(SysRoot(root))));
  const auto now = boot_time();
  TRY(add_withheld(records, now, inventory));
  for (Warning& remark : TRY(provision_remarks(records, now, inventory)))
    inventory.warnings.push_back(std::move(remark));
  return {};
}

}  // namespace

std::string default_root() {
  const auto mounted = SysRoot(kMounted).exists("sys/bus/pci");
  return mounted.ok() && *mounted ? kMounted : "/";
}

bool is_live(const std::string& root) { return root == "/" || root == kMounted; }

std::string cni_state_dir(const std::string& root) { return own_folder(root, kCniStateDir); }
std::string run_dir(const std::string& root) { return own_folder(root, kRunDir); }

Result<Inventory> scan_root(const std::string& root) {
  const auto host = TRY(host_kernel(root), "open netlink");
  const SysRoot sys(root);
  Inventory out = TRY(scan(sys, host.get()));
  TRY(check_host_view(sys, out));
  const std::string state = cni_state_dir(root);
  // Only root may read it; the rest is shown nevertheless.
  if (const auto attached = Attachments(state).owners())
    mark_attached(*attached, out);
  else
    out.warnings.push_back(
        {"which devices are attached to pods is not known: " + attached.error().text, attached.error().id()});
  const auto read = add_unclean(sys, state, out);
  if (!read) {
    out.warnings.push_back(
        {"which devices could not be restored after a pod is not known: " + read.error().text,
         read.error().id()});
    out.unclean_unread = out.warnings.back().line();
  }
  if (const auto withheld = add_provisioning(root, out); !withheld)
    out.warnings.push_back(
        {"how far `vfrail provision` is is not known: " + withheld.error().text, withheld.error().id()});
  return out;
}

}  // namespace vfrail::plugin

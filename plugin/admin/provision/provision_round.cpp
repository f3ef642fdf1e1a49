#include "plugin/admin/provision/provision_round.h"

#include "common/errors/error_id.h"
#include "common/files.h"
#include "common/netlink/netlink_kernel.h"
#include "common/node/attachments.h"
#include "plugin/admin/report/scan_root.h"
#include "plugin/device/config/formats/file.h"
#include "plugin/device/config/formats/vfs.h"
#include "plugin/device/inventory/devlink.h"
#include "plugin/device/inventory/host_kernel.h"
#include "plugin/device/inventory/unclean_facts.h"
#include "plugin/provision/node.h"
#include "plugin/provision/timed_write.h"

#include <algorithm>
#include <filesystem>
#include <thread>

namespace vfrail::plugin {

namespace {

// A run that makes 127 VFs takes half a minute, and the next one waits for it.
constexpr std::chrono::milliseconds kLockWait{60'000};

// Serve reads the progress within a second, and kubelet its list at once.
constexpr std::chrono::seconds kWithholdTime{3};

std::string record_folder(const ProvisionOptions& options) {
  const std::string run =
      is_live(options.root) ? options.run_dir : SysRoot(options.root).path(options.run_dir.substr(1));
  return run + "/" + kProvisionFolder;
}

// Which pods have which VFs, and why that is not wholly known.
struct Users {
  UsersById by_id;
  std::string unknown;
};

void add_user(Users& out, const std::string& id, const std::string& text) {
  auto& known = out.by_id[id];
  if (std::find(known.begin(), known.end(), text) == known.end()) known.push_back(text);
}

// Devices of shared pools, which each of their pods can open.
void add_shared(const Pools& pools, const DevicesInUse& in_use, Users& out) {
  for (const Pool& pool : pools.pools) {
    if (!shares(pool.config) || in_use.count(pool.resource()) == 0) continue;
    for (const PoolDevice& device : pool.devices) add_user(out, device.id(), "pods with " + pool.resource());
  }
}

void add_from_kubelet(const ProvisionOptions& options, const AskKubelet& ask, const Inventory& inventory,
                      Users& out) {
  std::error_code failed;
  if (!is_live(options.root) || !std::filesystem::exists(options.kubelet_root + "/pod-resources", failed))
    return;
  const auto in_use = ask(options.kubelet_root);
  if (!in_use) {
    out.unknown = "which pods have them is not known: " + in_use.error().text;
    return;
  }
  for (const auto& [resource, devices] : in_use->resources) {
    for (const auto& [id, user] : devices) add_user(out, id, "pod " + user.pod_namespace + "/" + user.pod);
  }
  // Units of shared pools and bundles have names of their own.
  const auto config = load_config({options.config_file, options.resource_prefix});
  if (!config) return;
  const Pools pools = match(*config, inventory);
  PodsById of_units;
  add_allocated(pools, *in_use, of_units);
  for (const auto& [id, pods] : of_units) {
    for (const PodUse& use : pods) add_user(out, id, "pod " + use.text());
  }
  add_shared(pools, *in_use, out);
}

Users find_users(const ProvisionOptions& options, const AskKubelet& ask, const Inventory& inventory) {
  Users out;
  add_from_kubelet(options, ask, inventory, out);
  const Attachments attachments(cni_state_dir(options.root));
  if (const auto owners = attachments.owners(); !owners)
    out.unknown = "which are attached to pods is not known: " + owners.error().text;
  PodsById attached;
  add_attached(attachments, inventory, attached);
  for (const auto& [id, pods] : attached) {
    if (out.by_id.contains(id)) continue;
    for (const PodUse& use : pods) add_user(out, id, use.pod.empty() ? use.text() : "pod " + use.text());
  }
  return out;
}

ProvisionWorld world_of(const ProvisionOptions& options, const AutoprobeRecords& records,
                        const ProgressRecords& progress) {
  return {.sys = SysRoot(options.root),
          .records = records,
          .progress = progress,
          .drains = options.watch,
          .write = [](const std::string& path,
                      std::string_view text) { return timed_write(path, text, kWriteDeadline); },
          .open_kernel = [root = options.root] { return host_kernel(root); },
          .set_eswitch = [](const PciAddress& pf, EswitchMode mode) -> Result<> {
            auto devlink = TRY(Devlink::open(), "open devlink");
            if (!devlink) return Error{Errc::unsupported, 0, "this kernel has no devlink"};
            return devlink->set_eswitch_mode({"pci", pf.text()}, mode);
          }};
}

Result<ProvisionPlan> make_plan(const ProvisionOptions& options, const VfsConfig& config,
                                const AskKubelet& ask, const AutoprobeRecords& records) {
  const Inventory inventory = TRY(scan_root(options.root));
  const auto host = TRY(host_kernel(options.root), "open netlink");
  const Users users = find_users(options, ask, inventory);
  const bool serials = std::any_of(config.entries.begin(), config.entries.end(),
                                   [](const VfsEntry& entry) { return !entry.serials.empty(); });
  const SysRoot sys(options.root);
  const ProvisionFacts facts = TRY(read_provision_facts({.sys = sys,
                                                         .host = host.get(),
                                                         .inventory = inventory,
                                                         .users = users.by_id,
                                                         .pods_unknown = users.unknown,
                                                         .records = records,
                                                         .serials = serials}));
  return provision_plan(config, facts);
}

bool disturbs_vfs(const ProvisionPlan& plan) {
  return std::any_of(plan.pfs.begin(), plan.pfs.end(),
                     [](const PfPlan& pf) { return plugin::disturbs_vfs(pf); });
}

// Serve, which sees it at once, and kubelet no longer allocate the VFs that are to be removed or bound anew.
Result<> withhold(const ProvisionPlan& plan, const ProgressRecords& progress) {
  for (const PfPlan& pf : plan.pfs) {
    if (!plugin::disturbs_vfs(pf)) continue;
    const bool removes = removes_vfs(pf);
    TRY(progress.save(pf.pf, {removes ? ProgressState::draining : ProgressState::running, pf.entry,
                              removes ? "they are made anew" : "", boot_time()}));
  }
  std::this_thread::sleep_for(kWithholdTime);
  return {};
}

// Of PFs that have no entry any more.
Result<> forget_others(const ProvisionPlan& plan, const ProgressRecords& progress) {
  for (const PciAddress& pf : TRY(progress.known())) {
    const auto same = [&](const PfPlan& one) { return one.pf == pf; };
    if (std::none_of(plan.pfs.begin(), plan.pfs.end(), same)) TRY(progress.remove(pf));
  }
  return {};
}

Result<VfsConfig> read_vfs_config(const ProvisionOptions& options) {
  const auto text = read_config_file(options.config_file);
  if (!text) return text.error();
  return parse_vfs(*text, {shown_file(options.config_file), options.resource_prefix});
}

}  // namespace

Result<ProvisionRound> provision_round(const ProvisionOptions& options, const AskKubelet& ask) {
  const VfsConfig config = TRY(read_vfs_config(options));
  const std::string folder = record_folder(options);
  const std::string boot = TRY(find_boot_id(SysRoot(options.root)));
  const AutoprobeRecords records(folder, boot);
  const ProgressRecords progress(folder, boot);
  std::optional<FileLock> lock;
  if (!options.dry_run) {
    TRY(make_folder(folder, 0700), "make " + folder);
    lock.emplace(TRY(FileLock::acquire(folder + "/lock", kLockWait, {.text = "vfrail provision"}),
                     "wait for another run"));
  }
  ProvisionRound out{TRY(make_plan(options, config, ask, records)), {}};
  if (options.dry_run) return out;
  TRY(forget_others(out.plan, progress), "remove what is written of PFs that have no entry any more");
  if (disturbs_vfs(out.plan)) {
    TRY(withhold(out.plan, progress));
    out.plan = TRY(make_plan(options, config, ask, records));
  }
  out.results = provision_run(out.plan, world_of(options, records, progress));
  return out;
}

}  // namespace vfrail::plugin

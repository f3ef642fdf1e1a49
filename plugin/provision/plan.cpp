#include "plugin/provision/plan.h"

#include "common/text.h"
#include "plugin/device/provisioning/withheld.h"
#include "plugin/provision/vf_plan.h"

#include <algorithm>

namespace vfrail::plugin {

namespace {

constexpr const char* kMellanox = "15b3";
constexpr const char* kBroadcom = "14e4";

// What changes the card's firmware, and is done by the administrator alone.
std::string firmware_command(const PfFacts& pf, const std::string& mlxconfig) {
  if (pf.vendor == kMellanox) return "`mlxconfig -d " + pf.address.text() + " set " + mlxconfig + "`";
  if (pf.vendor == kBroadcom)
    return "`devlink dev param set pci/" + pf.address.text() +
           " name enable_sriov value true cmode permanent`";
  return "the firmware setup of the card or of the machine";
}

Obstacle in_firmware(const std::string& text) {
  return {PfOutcome::needs_reboot, text + ", and reboot the node", ErrorId::provision_firmware};
}

std::optional<Obstacle> firmware_obstacle(const VfsEntry& entry, const PfFacts& pf) {
  const std::string address = pf.address.text();
  if (!entry.link_type.empty() && !pf.link_type.empty() && entry.link_type != pf.link_type) {
    const bool ib = entry.link_type == "infiniband";
    return in_firmware("the port of " + address + " is " + (ib ? "Ethernet" : "InfiniBand") +
                       ", and linkType is " + entry.link_type + ": change it by " +
                       firmware_command(pf, "LINK_TYPE_P" + std::to_string(pf.address.function + 1) + "=" +
                                                (ib ? "1" : "2")));
  }
  if (entry.count == 0) return std::nullopt;
  const std::string number = "SRIOV_EN=1 NUM_OF_VFS=" + std::to_string(entry.count);
  if (pf.total_vfs.value_or(0) == 0)
    return in_firmware(address + " can have no VFs, because SR-IOV is off in its firmware: switch it on by " +
                       firmware_command(pf, number));
  if (entry.count <= *pf.total_vfs) return std::nullopt;
  return in_firmware(address + " can have " + counted(*pf.total_vfs, "VF") +
                     " by its firmware (sriov_totalvfs), and " + std::to_string(entry.count) +
                     " are wanted: lower count, or raise the limit by " + firmware_command(pf, number));
}

Obstacle failed(const std::string& text) { return {PfOutcome::failed, text, ErrorId::provision_failed}; }

// Why nothing of the PF can be changed.
std::optional<Obstacle> pf_obstacle(const VfsEntry& entry, const PfFacts& pf) {
  const std::string address = pf.address.text();
  if (!pf.manager.empty())
    return Obstacle{PfOutcome::refused,
                    address + " is " + pf.manager +
                        "'s, which makes its VFs: take it out of vfs, or out of its policies"};
  if (pf.driver.empty()) return failed(address + " has no driver, which makes the VFs: bind one");
  if (!pf.failed_reporters.empty())
    return failed(address + " does not work: devlink's health reporter " + joined(pf.failed_reporters) +
                  " is in state error (`devlink health`)");
  if (auto found = firmware_obstacle(entry, pf)) return found;
  // Without VFs some drivers do not report one and take it all the same.
  if (entry.eswitch == EswitchMode::switchdev && !pf.eswitch && pf.num_vfs > 0)
    return failed(
        "the eswitch mode of " + address +
        " is not known: its driver has none, or devlink cannot be asked from this network namespace");
  if (!entry.guid_file.empty() && pf.file_guids.size() < entry.count)
    return failed(entry.guid_file + " has " + counted(pf.file_guids.size(), "GUID") + " for the " +
                  counted(entry.count, "VF") + " of " + address);
  return std::nullopt;
}

bool changes_eswitch(const VfsEntry& entry, const PfFacts& pf) {
  return entry.eswitch && *entry.eswitch != pf.eswitch.value_or(EswitchMode::legacy);
}

std::string host_uses(const PfFacts& pf) {
  return pf.host_use.empty() ? "" : "the host uses it: " + pf.host_use.front().what;
}

// Another number, or another mode, removes all VFs first.
std::optional<Obstacle> removal_obstacle(const VfsEntry& entry, const PfFacts& pf,
                                         const std::string& pods_unknown) {
  const std::string what = changes_eswitch(entry, pf)
                               ? pf.address.text() + " stays in eswitch mode " +
                                     eswitch_name(pf.eswitch.value_or(EswitchMode::legacy))
                               : pf.address.text() + " keeps its " + counted(pf.num_vfs, "VF") + ", " +
                                     std::to_string(entry.count) + (entry.count == 1 ? " is" : " are") +
                                     " wanted";
  if (const std::string host = host_uses(pf); !host.empty())
    return Obstacle{PfOutcome::refused, what + ": " + host + ", so VFs are only added while it has none"};
  if (pf.num_vfs == 0) return std::nullopt;
  const std::string removed = what + ": all its VFs would be removed first, and ";
  std::vector<std::string> uses;
  for (const VfFacts& vf : pf.vfs) {
    if (!vf.in_use.empty()) uses.push_back(vf.address.text() + " " + vf.in_use);
  }
  const bool drains = entry.count < pf.num_vfs && !changes_eswitch(entry, pf);
  if (!uses.empty())
    return Obstacle{PfOutcome::refused, removed + joined(uses) + "; run it again when they are free",
                    ErrorId::provision_refused, drains};
  if (!pods_unknown.empty()) return Obstacle{PfOutcome::refused, removed + pods_unknown};
  if (pf.vfs.size() == pf.num_vfs) return std::nullopt;
  return Obstacle{PfOutcome::refused,
                  removed + "only " + std::to_string(pf.vfs.size()) + " of them can be read"};
}

void add_mtu(const VfsEntry& entry, const PfFacts& pf, PfPlan& out) {
  if (!entry.mtu || !pf.mtu || *pf.mtu >= *entry.mtu) return;
  if (const std::string host = host_uses(pf); !host.empty())
    out.obstacles.push_back({PfOutcome::refused, "the MTU of " + pf.name + " stays " +
                                                     std::to_string(*pf.mtu) + ", " +
                                                     std::to_string(*entry.mtu) + " is wanted: " + host});
  else
    out.steps.push_back({.kind = StepKind::mtu, .number = *entry.mtu});
}

// ice sets the mode while it has no VFs, mlx5 for VFs that it has, in sriov-network-operator's order.
bool eswitch_after_vfs(const VfsEntry& entry, const PfFacts& pf) {
  return pf.driver == "mlx5_core" && entry.eswitch == EswitchMode::switchdev && entry.count > 0;
}

void add_eswitch(const VfsEntry& entry, PfPlan& out) {
  out.steps.push_back({.kind = StepKind::eswitch, .text = eswitch_name(*entry.eswitch)});
}

void add_all(const std::vector<ProvisionStep>& from, PfPlan& out) {
  out.steps.insert(out.steps.end(), from.begin(), from.end());
}

bool autoprobe_before(const PfFacts& pf) { return pf.autoprobe_before.value_or(pf.autoprobe); }

void set_autoprobe(bool on, PfPlan& out) {
  out.steps.push_back({.kind = StepKind::autoprobe, .number = on ? 1U : 0U});
}

// `autoprobe`: as it is when these steps begin.
void add_vf_steps(const VfSteps& steps, const PfFacts& pf, bool autoprobe, PfPlan& out) {
  add_all(steps.before, out);
  const bool on = autoprobe || !steps.binds.empty();
  if (on != autoprobe) set_autoprobe(on, out);
  add_all(steps.binds, out);
  if (on != autoprobe_before(pf)) set_autoprobe(autoprobe_before(pf), out);
}

// All VFs anew. With autoprobe off the kernel binds none of them before it has its address.
void add_making(const VfsEntry& entry, const PfFacts& pf, PfPlan& out) {
  if (pf.autoprobe && entry.count > 0) set_autoprobe(false, out);
  if (!pf.up && !pf.name.empty() && entry.count > 0) out.steps.push_back({.kind = StepKind::link_up});
  if (pf.num_vfs != 0) out.steps.push_back({.kind = StepKind::num_vfs, .number = 0});
  const bool mode = changes_eswitch(entry, pf);
  if (mode && !eswitch_after_vfs(entry, pf)) add_eswitch(entry, out);
  if (entry.count > 0) {
    out.steps.push_back({.kind = StepKind::num_vfs, .number = entry.count});
    out.steps.push_back({.kind = StepKind::await_vfs, .number = entry.count});
  }
  if (mode && eswitch_after_vfs(entry, pf)) add_eswitch(entry, out);
  add_vf_steps(new_vf_steps(entry, pf), pf, pf.autoprobe && entry.count == 0, out);
}

void add_existing(const VfsEntry& entry, const PfFacts& pf, const std::string& pods_unknown, PfPlan& out) {
  if (auto found = driver_obstacle(entry, pf)) out.obstacles.push_back(*std::move(found));
  const VfSteps steps = existing_vf_steps(entry, pf);
  if (steps.before.empty() && steps.binds.empty()) return;
  if (pods_unknown.empty()) return add_vf_steps(steps, pf, pf.autoprobe, out);
  out.obstacles.push_back(
      {PfOutcome::refused, "VFs of " + pf.address.text() + " are not set or bound: " + pods_unknown});
}

void add_steps(const VfsEntry& entry, const PfFacts& pf, const std::string& pods_unknown, PfPlan& out) {
  add_mtu(entry, pf, out);
  const bool mode = changes_eswitch(entry, pf);
  const bool other = pf.num_vfs != entry.count;
  const bool removes = (other && pf.num_vfs != 0) || mode;
  const auto obstacle = removes ? removal_obstacle(entry, pf, pods_unknown) : std::nullopt;
  if (obstacle) out.obstacles.push_back(*obstacle);
  const auto settings = setting_obstacles(entry, pf);
  const bool set = entry.count > 0 && !settings.empty();
  if (set) out.obstacles.insert(out.obstacles.end(), settings.begin(), settings.end());
  if (set || obstacle) return;
  if (other || mode)
    add_making(entry, pf, out);
  else
    add_existing(entry, pf, pods_unknown, out);
}

// Around the steps: what autoprobe was, and what a run that was killed has not restored.
void add_record(const PfFacts& pf, PfPlan& out) {
  const auto changes = [](const ProvisionStep& step) { return step.kind == StepKind::autoprobe; };
  const bool changed = std::any_of(out.steps.begin(), out.steps.end(), changes);
  if (changed && !pf.autoprobe_before)
    out.steps.insert(out.steps.begin(), {.kind = StepKind::record, .number = pf.autoprobe ? 1U : 0U});
  if (!changed && pf.autoprobe_before && pf.autoprobe != *pf.autoprobe_before)
    set_autoprobe(*pf.autoprobe_before, out);
  if (changed || pf.autoprobe_before) out.steps.push_back({.kind = StepKind::forget});
}

PfPlan plan_pf(const VfsEntry& written, const PfFacts& pf, const std::string& pods_unknown) {
  VfsEntry entry = written;
  if (!entry.guid_file.empty()) entry.guid_list = pf.file_guids;
  PfPlan out{.pf = pf.address, .name = pf.name, .entry = entry.place, .steps = {}, .obstacles = {}};
  if (auto found = pf_obstacle(entry, pf))
    out.obstacles.push_back(*std::move(found));
  else
    add_steps(entry, pf, pods_unknown, out);
  if (pf.manager.empty()) add_record(pf, out);
  return out;
}

// A PF that cannot be read is not one that is missing.
void add_unread(const VfsConfig& config, const ProvisionFacts& facts, std::vector<bool>& used,
                ProvisionPlan& out) {
  for (const auto& [address, text] : facts.unread) {
    for (size_t i = 0; i < config.entries.size(); ++i) {
      const auto& devices = config.entries[i].devices;
      if (std::find(devices.begin(), devices.end(), address) == devices.end()) continue;
      used[i] = true;
      out.pfs.push_back({address, "", config.entries[i].place, {}, {failed(text)}});
      break;
    }
  }
}

void warn_of_mode(const VfsConfig& config, const ProvisionFacts& facts, ProvisionPlan& out) {
  if (!config.rdma_netns || !facts.rdma_netns || config.rdma_netns == facts.rdma_netns) return;
  const bool exclusive = *config.rdma_netns == RdmaNetnsMode::exclusive;
  out.warnings.push_back(
      {std::string("rdma.netns is ") + (exclusive ? "exclusive" : "shared") +
           ", and the node's RDMA is in the other mode: put \"options ib_core netns_mode=" +
           (exclusive ? "0" : "1") + "\" into modprobe.d, and reboot the node",
       ErrorId::config_doubtful});
}

}  // namespace

ProvisionPlan provision_plan(const VfsConfig& config, const ProvisionFacts& facts) {
  ProvisionPlan out;
  std::vector<bool> used(config.entries.size());
  for (const PfFacts& pf : facts.pfs) {
    const VfsEntry* entry = entry_of(config, pf.address, pf.name, pf.serial);
    if (entry == nullptr) continue;
    used[static_cast<size_t>(entry - config.entries.data())] = true;
    out.pfs.push_back(plan_pf(*entry, pf, facts.pods_unknown));
  }
  add_unread(config, facts, used, out);
  for (size_t i = 0; i < used.size(); ++i) {
    if (!used[i])
      out.warnings.push_back(
          {config.entries[i].place + ": no PF of this node matches it, or an entry before it has them",
           ErrorId::config_doubtful});
  }
  warn_of_mode(config, facts, out);
  return out;
}

}  // namespace vfrail::plugin

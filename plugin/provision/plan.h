// provision_plan(): from what the configuration wants and what the node has, the writes that make the one of
// the other, in their order, or why there are none. Every refusal is here. Pure: it reads and writes nothing.
#pragma once

#include "common/errors/error_id.h"
#include "common/errors/warning.h"
#include "plugin/device/config/vfs.h"
#include "plugin/provision/facts.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vfrail::plugin {

enum class StepKind : uint8_t {
  record,           // what autoprobe was, so that the next run can restore it if this one is killed
  autoprobe,        // PF/sriov_drivers_autoprobe
  link_up,          // of the PF: some VFs ask it for their address (igb), some drivers want it up (bnxt_en)
  mtu,              // of the PF's interface
  eswitch,          // by devlink
  num_vfs,          // PF/sriov_numvfs
  await_vfs,        // until the PF has links to all VFs
  set_vf,           // by one RTM_SETLINK on the PF's interface
  unbind,           // the VF's driver
  override_driver,  // VF/driver_override
  bind,             // drivers_probe
  forget,           // the record
};

struct ProvisionStep {
  StepKind kind = StepKind::num_vfs;
  uint32_t number = 0;              // autoprobe, MTU, number of VFs
  std::optional<uint32_t> vf = {};  // its index: a VF that is to be made has no address yet
  // eswitch; override_driver, empty: none; bind: the driver that must be there then (vf_driver_name()),
  // empty: any.
  std::string text = {};
  VfSettings settings = {};

  bool operator==(const ProvisionStep&) const = default;
};

enum class PfOutcome : uint8_t {
  unchanged,     // it is as it is wanted, or not wanted at all
  changed,       // by the steps
  refused,       // something is in use; later it can be done
  needs_reboot,  // the firmware has other settings
  failed,        // it cannot be done as it is now
};

// Why something of a PF stays as it is, which need not be all of it.
struct Obstacle {
  PfOutcome outcome = PfOutcome::refused;
  std::string text;
  ErrorId id = ErrorId::provision_refused;
  // Fewer VFs are wanted and pods have some: a run that waits for pods withholds the others meanwhile.
  bool drains = false;
  bool operator==(const Obstacle&) const = default;
};

struct PfPlan {
  PciAddress pf;
  std::string name;   // of its interface
  std::string entry;  // "vfs[0]"
  std::vector<ProvisionStep> steps;
  std::vector<Obstacle> obstacles;
};

struct ProvisionPlan {
  std::vector<PfPlan> pfs;  // in the order of their addresses, those with an entry
  std::vector<Warning> warnings;

  size_t writes() const;
};

ProvisionPlan provision_plan(const VfsConfig& config, const ProvisionFacts& facts);

// Binds a driver to the device whose address is written there.
inline constexpr const char* kDriversProbe = "sys/bus/pci/drivers_probe";

// Whether VFs that are there are removed.
bool removes_vfs(const PfPlan& plan);
// Whether VFs that are there are removed, or lose their driver for a moment.
bool disturbs_vfs(const PfPlan& plan);
// Whether a step changes the node, in contrast to waiting.
bool is_write(const ProvisionStep& step);
// "write 7 to /sys/bus/pci/devices/0000:21:00.0/sriov_numvfs", a line for people.
std::string step_text(const PfPlan& plan, const ProvisionStep& step);
// Functions of one card, whose firmware takes one command at a time: "0000:21:00".
std::string card_of(const PciAddress& pf);

}  // namespace vfrail::plugin

// What a plan is in words.
#include "common/node/device_folder.h"
#include "plugin/provision/plan.h"

#include <algorithm>

namespace vfrail::plugin {

namespace {

std::string file(const PciAddress& pf, const std::string& below) {
  return std::string("/") + kPciDevices + "/" + pf.text() + "/" + below;
}

std::string write(const std::string& text, const std::string& path) {
  return "write " + text + " to " + path;
}

}  // namespace

bool removes_vfs(const PfPlan& plan) {
  return std::any_of(plan.steps.begin(), plan.steps.end(), [](const ProvisionStep& step) {
    return step.kind == StepKind::num_vfs && step.number == 0;
  });
}

bool disturbs_vfs(const PfPlan& plan) {
  const auto unbinds = [](const ProvisionStep& step) { return step.kind == StepKind::unbind; };
  return removes_vfs(plan) || std::any_of(plan.steps.begin(), plan.steps.end(), unbinds);
}

bool is_write(const ProvisionStep& step) { return step.kind != StepKind::await_vfs; }

size_t ProvisionPlan::writes() const {
  size_t out = 0;
  for (const PfPlan& pf : pfs)
    out += static_cast<size_t>(std::count_if(pf.steps.begin(), pf.steps.end(), is_write));
  return out;
}

std::string step_text(const PfPlan& plan, const ProvisionStep& step) {
  const std::string number = std::to_string(step.number);
  const std::string vf = std::to_string(step.vf.value_or(0));
  const std::string virtfn = "virtfn" + vf;
  switch (step.kind) {
    case StepKind::record:
      return "record that sriov_drivers_autoprobe of " + plan.pf.text() + " was " + number;
    case StepKind::autoprobe:
      return write(number, file(plan.pf, "sriov_drivers_autoprobe"));
    case StepKind::link_up:
      return "set " + plan.name + " up";
    case StepKind::mtu:
      return "set " + plan.name + " mtu " + number;
    case StepKind::eswitch:
      return "set the eswitch mode of pci/" + plan.pf.text() + " to " + step.text;
    case StepKind::num_vfs:
      return write(number, file(plan.pf, "sriov_numvfs"));
    case StepKind::await_vfs:
      return "wait for the links virtfn0 to virtfn" + std::to_string(step.number - 1) + " of " +
             plan.pf.text();
    case StepKind::set_vf:
      return "set " + plan.name + " vf " + vf + " " + step.settings.text();
    case StepKind::unbind:
      return write("its address", file(plan.pf, virtfn + "/driver/unbind"));
    case StepKind::override_driver:
      return write(step.text.empty() ? "nothing" : step.text, file(plan.pf, virtfn + "/driver_override"));
    case StepKind::bind:
      return write("the address of " + virtfn + " of " + plan.pf.text(), std::string("/") + kDriversProbe);
    case StepKind::forget:
      return "remove the record of " + plan.pf.text();
  }
  return "?";
}

std::string card_of(const PciAddress& pf) {
  const std::string text = pf.text();
  return text.substr(0, text.rfind('.'));
}

}  // namespace vfrail::plugin

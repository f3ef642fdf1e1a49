#include "plugin/provision/pf_run.h"

#include "common/errors/error_id.h"
#include "common/node/device_folder.h"
#include "plugin/provision/vfio.h"

#include <algorithm>
#include <cerrno>
#include <future>
#include <thread>

namespace vfrail::plugin {

namespace {

constexpr std::chrono::milliseconds kPoll{20};
// Probing is the firmware's work, which takes some commands of a card at once.
constexpr size_t kBoundAtOnce = 8;

std::string folder_of(const PciAddress& pf) { return std::string(kPciDevices) + "/" + pf.text() + "/"; }

// What an error of sriov_numvfs mostly means.
std::string hint_of(const Error& error) {
  switch (error.sys) {
    case ENOMEM:
    case ENOSPC:
      return " (the machine's firmware has no address space for so many VFs: switch on SR-IOV and large "
             "BARs, \"Above 4G "
             "Decoding\", in its setup, or boot with pci=realloc)";
    case EBUSY:
      return " (the PF has VFs that somebody else has made meanwhile; run it again)";
    case ENOENT:
      return " (the PF has no driver)";
    case EROFS:
    case EACCES:
      return " (in a container /sys must be mounted read-write)";
    default:
      return "";
  }
}

// Of a VF: without it the rest of the PF can be done.
bool is_of_one_vf(const ProvisionStep& step) { return step.vf.has_value(); }

// The last write of autoprobe makes it what it was.
bool restores(const std::vector<ProvisionStep>& steps, size_t at) {
  if (steps[at].kind != StepKind::autoprobe) return false;
  return std::none_of(steps.begin() + static_cast<std::ptrdiff_t>(at) + 1, steps.end(),
                      [](const ProvisionStep& step) { return step.kind == StepKind::autoprobe; });
}

Error failed(Error error) { return std::move(error).with_id(ErrorId::provision_failed); }

}  // namespace

Result<> PfRun::write_pf(const char* file, uint32_t number) const {
  const std::string path = world_.sys.path(folder_of(plan_.pf) + file);
  auto written = world_.write(path, std::to_string(number));
  if (!written) written.error().text += hint_of(written.error());
  return written;
}

Result<int> PfRun::link_index() {
  if (!kernel_) kernel_ = TRY(world_.open_kernel());
  if (!kernel_)
    return Error{Errc::unsupported, 0,
                 "the kernel cannot be asked about " + plan_.name + " from this network namespace or root"};
  const auto link = TRY(kernel_->find_link(plan_.name));
  if (!link) return Error{Errc::not_found, 0, "there is no interface " + plan_.name};
  return link->index;
}

Result<> PfRun::change_link(const LinkChange& change) {
  const int index = TRY(link_index());
  return kernel_->change_link(index, change);
}

Result<> PfRun::await_vfs(uint32_t count) const {
  const auto deadline = std::chrono::steady_clock::now() + world_.vfs_deadline;
  const DeviceFolder folder(world_.sys, DeviceId(plan_.pf));
  for (;;) {
    const size_t found = TRY(list_vfs(folder)).size();
    if (found >= count) return {};
    if (std::chrono::steady_clock::now() >= deadline)
      return Error{Errc::timeout, 0,
                   "only " + std::to_string(found) + " of " + std::to_string(count) + " VFs of " +
                       plan_.pf.text() + " have come; see dmesg"};
    std::this_thread::sleep_for(kPoll);
  }
}

Result<> PfRun::set_each(int link, uint32_t vf, const VfSettings& settings, const Error& together) {
  std::string refused;
  for (const VfSettings& one : settings.each()) {
    const auto alone = kernel_->change_vf(link, vf, one);
    if (alone) continue;
    if (one.node_guid || one.port_guid) not_bound_.insert(vf);
    refused += (refused.empty() ? "" : "; ") + one.text() + ": " + alone.error().text;
  }
  if (refused.empty()) return {};
  return Error{together.code, together.sys,
               "the PF's driver refused: " + refused +
                   " (not every driver has every setting; take it out of vfs, or `mac: none` leaves the "
                   "address to the VF)"};
}

Result<> PfRun::set_vf(uint32_t vf, const VfSettings& settings) {
  const auto index = link_index();
  if (!index.ok()) {
    if (settings.port_guid) not_bound_.insert(vf);
    return index.error();
  }
  const auto done = kernel_->change_vf(*index, vf, settings);
  return done ? Result<>() : set_each(*index, vf, settings, done.error());
}

Result<std::string> PfRun::address_of(uint32_t vf) const {
  const std::string name = "virtfn" + std::to_string(vf);
  auto address = TRY(world_.sys.link_name(folder_of(plan_.pf) + name));
  if (!address) return Error{Errc::not_found, 0, plan_.pf.text() + " has no " + name};
  return *std::move(address);
}

Result<> PfRun::unbind(uint32_t vf) const {
  const std::string address = TRY(address_of(vf));
  const std::string folder = std::string(kPciDevices) + "/" + address;
  // A VM can have been started since the plan was made.
  const auto driver = TRY(world_.sys.link_name(folder + "/driver"));
  if (driver && Driver(*driver).kind() == DriverKind::vfio &&
      TRY(open_by_vfio(DeviceFolder(SysRoot(world_.sys.path(folder))))).value_or(true))
    return Error{Errc::busy, 0, address + " is open by now, by a VM or a program, and stays as it is"};
  return world_.write(world_.sys.path(folder + "/driver/unbind"), address);
}

Result<> PfRun::bind(const ProvisionStep& step) const {
  const std::string address = TRY(address_of(*step.vf));
  TRY(world_.write(world_.sys.path(kDriversProbe), address));
  const auto driver = TRY(world_.sys.link_name(std::string(kPciDevices) + "/" + address + "/driver"));
  const bool vfio = driver && Driver(*driver).kind() == DriverKind::vfio;
  if (driver && (step.text.empty() || vfio == (step.text == vf_driver_name(VfDriver::vfio_pci)))) return {};
  if (vfio)
    return Error{Errc::invalid, 0,
                 *driver + " is bound to " + address +
                     " again, because it has the ID of all such devices: write \"VENDOR DEVICE\" to "
                     "remove_id in its folder in sysfs"};
  return Error{Errc::not_found, 0,
               "no " + (step.text == "vfio-pci" ? step.text + " " : "driver ") + "is bound to " + address +
                   " although the kernel has searched one: is the module of the VFs loaded? See dmesg"};
}

// Steps that bind stand one behind the other. Returns where they end.
size_t PfRun::bind_from(size_t first, PfResult& out) {
  const auto& steps = plan_.steps;
  size_t end = first;
  while (end < steps.size() && steps[end].kind == StepKind::bind) ++end;
  for (size_t begin = first; begin < end; begin += kBoundAtOnce) {
    std::vector<std::future<Result<>>> running;
    const size_t stop = std::min(end, begin + kBoundAtOnce);
    for (size_t i = begin; i < stop; ++i) {
      const bool skip = not_bound_.contains(*steps[i].vf);
      running.push_back(
          std::async(skip ? std::launch::deferred : std::launch::async,
                     [this, skip, &step = steps[i]] { return skip ? Result<>() : bind(step); }));
    }
    for (size_t i = begin; i < stop; ++i) {
      auto bound = running[i - begin].get();
      if (!bound)
        out.failures.push_back(failed(std::move(bound).error().in(step_text(plan_, steps[i]))));
      else if (!not_bound_.contains(*steps[i].vf))
        out.done.push_back(steps[i]);
    }
  }
  return end;
}

Result<> PfRun::do_step(const ProvisionStep& step) {
  switch (step.kind) {
    case StepKind::record:
      return world_.records.save(plan_.pf, step.number != 0);
    case StepKind::autoprobe:
      return write_pf("sriov_drivers_autoprobe", step.number);
    case StepKind::link_up:
      return change_link({.up = true});
    case StepKind::mtu:
      return change_link({.mtu = step.number});
    case StepKind::eswitch:
      return world_.set_eswitch(plan_.pf,
                                step.text == "switchdev" ? EswitchMode::switchdev : EswitchMode::legacy);
    case StepKind::num_vfs:
      return write_pf("sriov_numvfs", step.number);
    case StepKind::await_vfs:
      return await_vfs(step.number);
    case StepKind::set_vf:
      return set_vf(*step.vf, step.settings);
    case StepKind::unbind:
      return unbind(*step.vf);
    case StepKind::override_driver:
      return world_.write(
          world_.sys.path(std::string(kPciDevices) + "/" + TRY(address_of(*step.vf)) + "/driver_override"),
          step.text.empty() ? "\n" : step.text);
    case StepKind::bind:
      return bind(step);
    case StepKind::forget:
      return world_.records.remove(plan_.pf);
  }
  return {};
}

PfResult PfRun::run() {
  PfResult out{.pf = plan_.pf, .done = {}, .failures = {}};
  bool stopped = false;      // by an error after which the rest makes no sense
  bool keep_record = false;  // autoprobe could not be restored
  const auto& steps = plan_.steps;
  for (size_t i = 0; i < steps.size(); ++i) {
    const ProvisionStep& step = steps[i];
    const bool forgets = step.kind == StepKind::forget && !keep_record;
    if (stopped && !restores(steps, i) && !forgets) continue;
    if (keep_record && step.kind == StepKind::forget) continue;
    if (step.kind == StepKind::bind) {
      i = bind_from(i, out) - 1;
      continue;
    }
    if (step.vf && not_bound_.contains(*step.vf)) continue;
    auto done = do_step(step);
    if (step.kind == StepKind::unbind && !done) not_bound_.insert(*step.vf);
    if (done) {
      out.done.push_back(step);
      continue;
    }
    out.failures.push_back(failed(std::move(done).error().in(step_text(plan_, step))));
    keep_record = keep_record || step.kind == StepKind::autoprobe;
    stopped = stopped || !is_of_one_vf(step);
  }
  return out;
}

}  // namespace vfrail::plugin

#include "plugin/provision/vf_plan.h"

#include "common/text.h"
#include "plugin/provision/identity.h"

namespace vfrail::plugin {

namespace {

bool is_infiniband(const PfFacts& pf) { return pf.link_type == "infiniband"; }

uint64_t wanted_guid(const VfsEntry& entry, const PfFacts& pf, uint32_t index) {
  if (entry.guids == AddressSource::list && index < entry.guid_list.size()) return entry.guid_list[index];
  return pf.identity.guid == 0 ? 0 : derive_guid(pf.identity.guid, static_cast<uint16_t>(index));
}

std::optional<MacAddress> wanted_mac(const VfsEntry& entry, const PfFacts& pf, uint32_t index) {
  if (entry.macs == AddressSource::none || pf.link_type.empty()) return std::nullopt;
  if (entry.macs == AddressSource::list && index < entry.mac_list.size()) return entry.mac_list[index];
  if (pf.identity.mac.bytes.size() != 6 || pf.identity.mac.all_zero()) return std::nullopt;
  return derive_mac(pf.identity.mac, static_cast<uint16_t>(index));
}

// Whether the VF has no address that is worth keeping. An Ethernet VF with a driver has chosen its own.
bool lacks_address(const PfFacts& pf, const VfFacts& vf) {
  const VfSettings& now = *vf.settings;
  if (is_infiniband(pf)) return now.node_guid == 0U || now.port_guid == 0U;
  return !vf.driver.is_bound() && now.mac && now.mac->all_zero();
}

// What of `wanted` the VF has otherwise. A setting that the driver does not report is not written: it would
// be at every run.
VfSettings differing(const VfSettings& now, const VfSettings& wanted) {
  VfSettings out;
  for (const VfSettings& one : now.missing(wanted).each()) {
    if (!now.only(one).empty()) out = out.with(one);
  }
  return out;
}

// The address of a VF stays, unless it is zero or the configuration says which it is.
VfSettings needed_settings(const VfsEntry& entry, const PfFacts& pf, uint32_t index) {
  const VfFacts& vf = pf.vfs[index];
  const VfSettings wanted = wanted_settings(entry, pf, index);
  // Kernels before 5.5 set GUIDs and do not report them.
  const bool unknown = !vf.settings || (is_infiniband(pf) && !vf.settings->node_guid);
  if (unknown && !vf.driver.is_bound()) return wanted;
  if (!vf.settings) return {};
  const AddressSource source = is_infiniband(pf) ? entry.guids : entry.macs;
  const bool address = source != AddressSource::repair || lacks_address(pf, vf);
  return differing(*vf.settings, address ? wanted : wanted.policy());
}

enum class Vf : uint8_t { made, existing };

// Whoever bound an existing one to vfio-pci has mostly set driver_override.
void add_bind(std::optional<VfDriver> driver, Vf which, uint32_t index, VfSteps& out) {
  if (driver == VfDriver::none) return;
  const char* name = driver ? vf_driver_name(*driver) : "";
  const bool back = driver == VfDriver::kernel && which == Vf::existing;
  if (driver == VfDriver::vfio_pci || back)
    out.before.push_back({.kind = StepKind::override_driver, .vf = index, .text = back ? "" : name});
  out.binds.push_back({.kind = StepKind::bind, .vf = index, .text = name});
}

// One that is not for the kernel and not VFIO's is bound by an administrator, who knows why.
bool has_wanted_driver(std::optional<VfDriver> driver, const VfFacts& vf) {
  if (driver == VfDriver::none) return !vf.driver.is_bound();
  if (driver == VfDriver::vfio_pci) return vf.driver.kind() == DriverKind::vfio;
  const bool vfio = vf.driver.kind() == DriverKind::vfio;
  return vf.driver.is_bound() && !(vfio && driver == VfDriver::kernel);
}

void add_existing_vf(const VfsEntry& entry, const PfFacts& pf, uint32_t index, VfSteps& out) {
  const VfFacts& vf = pf.vfs[index];
  const VfSettings change = needed_settings(entry, pf, index);
  const auto driver = entry.driver_of(index);
  // A VF takes its address over when its driver is bound.
  const bool rebind = !has_wanted_driver(driver, vf) || (vf.driver.is_bound() && !change.identity().empty());
  if (rebind && vf.driver.is_bound()) out.before.push_back({.kind = StepKind::unbind, .vf = index});
  if (!change.empty()) out.before.push_back({.kind = StepKind::set_vf, .vf = index, .settings = change});
  if (rebind) add_bind(driver, Vf::existing, index, out);
}

Obstacle no_identity(const PfFacts& pf, const char* what, const char* key) {
  return {PfOutcome::failed,
          pf.address.text() + " has no " + what +
              " of its own that can be read, from which those of its VFs are derived; "
              "give a list of them in " +
              key,
          ErrorId::provision_failed};
}

}  // namespace

VfSettings wanted_settings(const VfsEntry& entry, const PfFacts& pf, uint32_t index) {
  VfSettings out = entry.policy;
  if (!is_infiniband(pf)) {
    out.mac = wanted_mac(entry, pf, index);
  } else if (entry.guids != AddressSource::none) {
    if (const uint64_t guid = wanted_guid(entry, pf, index); guid != 0) out.node_guid = out.port_guid = guid;
  }
  return out;
}

std::vector<Obstacle> setting_obstacles(const VfsEntry& entry, const PfFacts& pf) {
  std::vector<Obstacle> out;
  const bool ib = is_infiniband(pf);
  if (ib && entry.guids != AddressSource::list && pf.identity.guid == 0)
    out.push_back(no_identity(pf, "GUID", "guids"));
  if (!ib && entry.macs == AddressSource::derived && !wanted_mac(entry, pf, 0))
    out.push_back(no_identity(pf, "MAC address", "mac"));
  if (pf.name.empty() && !wanted_settings(entry, pf, 0).empty())
    out.push_back(
        {PfOutcome::failed,
         pf.address.text() + " has no interface in this network namespace, by which its VFs get their " +
             (ib ? "GUIDs: load ib_ipoib (`modprobe ib_ipoib`), or run this in the host's network namespace"
                 : "settings: run this in the host's network namespace"),
         ErrorId::provision_failed});
  return out;
}

VfSteps new_vf_steps(const VfsEntry& entry, const PfFacts& pf) {
  VfSteps out;
  for (uint32_t i = 0; i < entry.count; ++i) {
    const VfSettings settings = wanted_settings(entry, pf, i);
    if (!settings.empty()) out.before.push_back({.kind = StepKind::set_vf, .vf = i, .settings = settings});
    add_bind(entry.driver_of(i), Vf::made, i, out);
  }
  return out;
}

VfSteps existing_vf_steps(const VfsEntry& entry, const PfFacts& pf) {
  VfSteps out;
  for (uint32_t i = 0; i < pf.vfs.size(); ++i) {
    if (pf.vfs[i].in_use.empty()) add_existing_vf(entry, pf, i, out);
  }
  return out;
}

std::optional<Obstacle> driver_obstacle(const VfsEntry& entry, const PfFacts& pf) {
  std::vector<std::string> kept;
  for (uint32_t i = 0; i < pf.vfs.size(); ++i) {
    const VfFacts& vf = pf.vfs[i];
    const auto driver = entry.driver_of(i);
    if (!driver || vf.in_use.empty() || vf.in_pod || has_wanted_driver(driver, vf)) continue;
    kept.push_back(vf.address.text() + " " + vf.in_use + " (driver is to be " + vf_driver_name(*driver) +
                   ")");
  }
  if (kept.empty()) return std::nullopt;
  return Obstacle{PfOutcome::refused, "VFs of " + pf.address.text() + " keep the driver that they have: " +
                                          first_few(kept) + "; run it again when they are free"};
}

}  // namespace vfrail::plugin

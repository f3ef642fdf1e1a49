#include "plugin/provision/vf_plan.h"

#include "plugin/provision/identity.h"

namespace vfrail::plugin {

namespace {

constexpr const char* kVfioPci = "vfio-pci";

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

void add_bind(const VfsEntry& entry, uint32_t index, VfSteps& out) {
  if (entry.driver == VfDriver::none) return;
  const bool vfio = entry.driver == VfDriver::vfio_pci;
  if (vfio) out.before.push_back({.kind = StepKind::override_driver, .vf = index, .text = kVfioPci});
  out.binds.push_back({.kind = StepKind::bind, .vf = index, .text = vfio ? kVfioPci : ""});
}

bool has_wanted_driver(const VfsEntry& entry, const VfFacts& vf) {
  switch (entry.driver) {
    case VfDriver::none:
      return !vf.driver.is_bound();
    case VfDriver::vfio_pci:
      return vf.driver.kind() == DriverKind::vfio;
    case VfDriver::kernel:
      break;
  }
  return vf.driver.is_bound();
}

void add_existing_vf(const VfsEntry& entry, const PfFacts& pf, uint32_t index, VfSteps& out) {
  const VfFacts& vf = pf.vfs[index];
  const VfSettings change = needed_settings(entry, pf, index);
  // A VF takes its address over when its driver is bound.
  const bool rebind = !has_wanted_driver(entry, vf) || (vf.driver.is_bound() && !change.identity().empty());
  if (rebind && vf.driver.is_bound()) out.before.push_back({.kind = StepKind::unbind, .vf = index});
  if (!change.empty()) out.before.push_back({.kind = StepKind::set_vf, .vf = index, .settings = change});
  if (rebind) add_bind(entry, index, out);
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
    add_bind(entry, i, out);
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

}  // namespace vfrail::plugin

#include "plugin/device/config/selector_facts.h"

#include "common/text.h"

namespace vfrail::plugin {

namespace {

using Texts = std::vector<std::string>;

constexpr const char* kIsPf = "none: it is a PF itself, and only VFs can match";

constexpr const char* kPassedThrough =
    "not on this machine: it was passed through to this virtual machine; select it by vendors, devices, "
    "pciAddresses or macs";

const char* without_pf(const DeviceFacts& function) {
  return function.passed_through ? kPassedThrough : kIsPf;
}

std::string with_index(const std::string& name, const DeviceFacts& function) {
  if (function.sf_number) return name + "#" + std::to_string(*function.sf_number);
  return function.vf_index < 0 ? name : name + "#" + std::to_string(function.vf_index);
}

bool is_virtio(const DeviceFacts& function) { return function.driver.name() == "virtio-pci"; }

}  // namespace

std::string or_none(std::string text) { return text.empty() ? "none" : std::move(text); }

std::string found_pf_name(const DeviceFacts& function) {
  if (!function.pf) return without_pf(function);
  if (!function.pf_name.empty()) return with_index(function.pf_name, function);
  return function.pf->text() + ", whose netdev is not in the host's network namespace";
}

std::string found_root_device(const DeviceFacts& function) {
  return function.pf ? with_index(function.pf->text(), function) : without_pf(function);
}

std::string found_kind(const DeviceFacts& function) {
  if (function.passed_through) return "one without a PF on this machine, which counts as a PF";
  return function.pf ? "no PF" : "a PF";
}

std::string found_subsystem(const DeviceFacts& function) {
  return or_none(function.subsystem_vendor) + ":" + or_none(function.subsystem_device);
}

std::string found_link_type(const DeviceFacts& function) {
  if (is_virtio(function)) return "not compared, because this is a virtio device";
  if (!function.link_type.empty()) return function.link_type;
  return "not known (neither its netdev nor its PF's is visible)";
}

Texts net_names(const DeviceFacts& function) {
  Texts out;
  for (const Netdev& netdev : function.netdevs) out.push_back(netdev.name);
  return out;
}

Texts macs(const DeviceFacts& function) {
  Texts out;
  for (const Netdev& netdev : function.netdevs) out.push_back(netdev.mac.text());
  return out;
}

Texts link_states(const DeviceFacts& function) {
  Texts out;
  for (const Netdev& netdev : function.netdevs) out.push_back(netdev.operstate);
  return out;
}

Texts rdma_names(const DeviceFacts& function) {
  Texts out;
  for (const RdmaFacts& rdma : function.rdma) out.push_back(rdma.name);
  return out;
}

std::string numa_text(const DeviceFacts& function) {
  return function.numa_node ? std::to_string(*function.numa_node) : std::string();
}

std::string aux_type(const DeviceFacts& function) {
  const auto parts =
      split(function.kind == FunctionKind::sub_function ? function.id.text() : "", ".");  // "mlx5_core.sf.4"
  return parts.size() < 2 ? std::string() : parts[parts.size() - 2];
}

std::string compared_link_type(const DeviceFacts& function) {
  return is_virtio(function) ? std::string() : function.link_type;
}

}  // namespace vfrail::plugin

#include "plugin/admin/report/config_report.h"

#include "common/programs.h"
#include "common/text.h"
#include "plugin/device/config/selector_table.h"
#include "plugin/device/match/pools.h"

namespace vfrail::plugin {

namespace {

std::string either(const std::vector<std::string>& values) {
  std::string out;
  for (const std::string& value : values) out += (out.empty() ? "" : " or ") + value;
  return out;
}

std::string in_words(const Selector& selector) {
  std::string out;
  const auto condition = [&out](const std::string& text) { out += (out.empty() ? "" : ", ") + text; };
  for (const SelectorField& field : selector_fields()) {
    const auto& values = selector.list(field.key);
    if (!values.empty()) condition(std::string(field.fact) + " " + either(values));
  }
  if (selector.is_pf) condition(*selector.is_pf ? "a PF" : "no PF");
  if (selector.is_rdma) condition("with RDMA");
  if (!selector.vdpa_type.empty()) condition("vDPA of type " + selector.vdpa_type);
  if (out.empty()) out = "every function of that type";
  for (const Selector& other : selector.none_of) out += ", but not: " + in_words(other);
  return out;
}

std::string units_in_words(const ResourceConfig& resource) {
  switch (resource.unit) {
    case UnitKind::device:
      return "each a device of its own";
    case UnitKind::shared:
      return std::to_string(resource.units) + ", each with every device of the pool";
    case UnitKind::shared_one:
      return std::to_string(resource.units) + ", each with one device of the pool";
    case UnitKind::bundle:
      break;
  }
  return "each one device of every PF that the pool has";
}

std::string health_in_words(const HealthPolicy& policy) {
  std::string out;
  const auto add = [&out](bool counts, const char* what) {
    if (counts) out += std::string(out.empty() ? "" : ", ") + what;
  };
  add(policy.port, "InfiniBand port");
  add(policy.carrier, "Ethernet carrier of the PF");
  add(policy.guid, "GUID");
  add(policy.devlink, "devlink reporters");
  return out.empty() ? "only whether the device is there" : out;
}

const char* in_words(Preference preference) {
  switch (preference) {
    case Preference::none:
      return "kubelet chooses";
    case Preference::numa:
      return "as few NUMA nodes as possible";
    case Preference::pcie:
      return "closest to each other and to GPUs";
    case Preference::pack:
      return "as few PFs as possible";
    case Preference::spread:
      return "as many PFs as possible";
    case Preference::distinct_pf:
      return "no two of one PF";
    case Preference::rail:
      break;
  }
  return "one of each PF, in the order of their addresses";
}

std::string allocated_nodes(const Selector& selector) {
  std::string out;
  const auto add = [&out](const char* what) { out += std::string(out.empty() ? "" : ", ") + what; };
  if (selector.is_rdma) add("the RDMA device's nodes");
  if (selector.need_vhost_net) add("/dev/vhost-net and /dev/net/tun");
  if (selector.vdpa_type == "vhost") add("/dev/vhost-vdpa-N");
  return out;
}

const char* in_words(HostUse policy) {
  switch (policy) {
    case HostUse::refuse:
      return "what the host uses in any way is left out";
    case HostUse::warn:
      return "what carries the host's default route or is a member of a bond or bridge is left out";
    case HostUse::allow:
      break;
  }
  return "also what the host uses is advertised";
}

std::string line(const char* title, const std::string& text) {
  constexpr size_t kTitleWidth = 11;
  std::string out = std::string("  ") + title;
  out.resize(2 + kTitleWidth, ' ');
  return out + text + "\n";
}

std::string assignment(const std::string& key, const std::string& value) { return " " + key + "=" + value; }

std::string describe_additional_info(const std::map<std::string, std::map<std::string, std::string>>& info) {
  std::string out;
  for (const auto& [device, values] : info) {
    std::string text = (device == "*" ? "every device" : device) + ":";
    for (const auto& [key, value] : values) text += assignment(key, value);
    out += line("adds to", text);
  }
  return out;
}

std::string describe_resource(const ResourceConfig& resource) {
  std::string out = resource.resource() + "\n";
  bool first = true;
  for (const Selector& selector : resource.selectors) {
    out += line(first ? "selects" : "or", in_words(selector));
    const std::string nodes = allocated_nodes(selector);
    if (!nodes.empty()) out += line("allocates", nodes);
    first = false;
  }
  out += line("units", units_in_words(resource));
  if (resource.preference != Preference::none) out += line("prefers", in_words(resource.preference));
  out += line("health", health_in_words(resource.health));
  if (resource.set_links_up)
    out += line("links", "interfaces that are administratively down are brought up once");
  if (resource.memlock)
    out += line("memlock", resource.memlock->empty() ? "the container's memory limit" : *resource.memlock);
  for (const std::string& node : resource.extra_nodes) out += line("adds", node);
  if (resource.mount_check) out += line("adds", kCheckMount);
  if (!shares(resource) || resource.host_use != HostUse::allow)
    out += line("host use", in_words(resource.host_use));
  if (resource.exclude_topology) out += line("topology", "NUMA nodes are not reported");
  if (resource.additional_info) out += describe_additional_info(*resource.additional_info);
  out += line("socket", socket_name(resource));
  if (!shares(resource)) out += line("variables", env_name(resource) + ", " + env_name(resource) + "_INFO");
  return out;
}

std::string describe_vfs(const VfsEntry& entry) {
  std::vector<std::string> pfs;
  for (const PciAddress& one : entry.devices) pfs.push_back(one.text());
  pfs.insert(pfs.end(), entry.names.begin(), entry.names.end());
  for (const std::string& one : entry.serials) pfs.push_back("serial " + one);
  std::string out = entry.place + "\n" + line("PFs", joined(pfs)) + line("makes", counted(entry.count, "VF"));
  for (const VfDriverChoice& one : entry.drivers) out += line("driver", one.text);
  return out;
}

}  // namespace

std::string config_in_words(const Config& config) {
  std::string out;
  for (const ResourceConfig& resource : config.resources)
    out += (out.empty() ? "" : "\n") + describe_resource(resource);
  for (const VfsEntry& entry : config.vfs.entries) out += (out.empty() ? "" : "\n") + describe_vfs(entry);
  return out;
}

std::string network_in_words(const Network& network) {
  std::string out = "network " + network.name + "\n";
  out +=
      line("plugins",
           network.types.empty()
               ? "not in the definition: Multus takes the file in /etc/cni/net.d whose name is the network's"
               : joined(network.types));
  if (!network.resource.empty()) out += line("resource", network.resource);
  return out;
}

}  // namespace vfrail::plugin

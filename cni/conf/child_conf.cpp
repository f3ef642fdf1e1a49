// The part of the network configuration for an interface that stands on one of the host.
#include "cni/conf/net_conf.h"
#include "common/one_of.h"
#include "common/pkey.h"

#include <algorithm>
#include <cctype>

namespace vfrail::cni {

namespace {

// What Multus passes of a shared pool: a number, which stands for no device.
bool is_unit_of_shared(const DeviceId& id) {
  return std::all_of(id.text().begin(), id.text().end(),
                     [](unsigned char c) { return std::isdigit(c) != 0; });
}

Result<ChildKind> read_kind(ObjectReader& conf, const std::string& word) {
  for (const ChildKind kind : {ChildKind::macvlan, ChildKind::ipvlan, ChildKind::ipoib}) {
    if (word == name_of(kind)) return kind;
  }
  return conf.error("mode", must_be_one_of({"macvlan", "ipvlan", "ipoib"}, word));
}

// A name, an alternative name or a PCI address, which is the same on nodes that name their interfaces
// differently.
Result<> add_master(ObjectReader& conf, const std::string& master, DeviceSelector& out) {
  const auto pci = PciAddress::parse(master);
  const auto id = pci ? std::optional(DeviceId(*pci)) : std::nullopt;
  const bool other_id = id && out.id && *out.id != *id;
  const bool other_name = !id && !out.name.empty() && out.name != master;
  if (other_id || other_name)
    return conf.error("master", "it names " + master + ", but another key names " +
                                    (other_id ? out.id->text() : out.name) + "; take one of them out");
  if (id) out.id = id;
  if (!id) out.name = master;
  return {};
}

}  // namespace

const char* name_of(ChildKind kind) {
  switch (kind) {
    case ChildKind::macvlan:
      return "macvlan";
    case ChildKind::ipvlan:
      return "ipvlan";
    case ChildKind::ipoib:
      return "ipoib";
  }
  return "?";
}

Result<> read_child(ObjectReader& conf, NetConf& out) {
  if (is_peer(out.entry.type)) return {};
  const std::string word = TRY(conf.text("mode")).value_or("");
  const std::string master = TRY(conf.text("master")).value_or("");
  if (word.empty()) {
    if (!master.empty())
      out.warnings.push_back("master: it means nothing without mode (macvlan, ipvlan or ipoib)");
    return {};
  }
  ChildConf child{.kind = TRY(read_kind(conf, word))};
  const std::string pkey = TRY(conf.text("pkey")).value_or("");
  constexpr uint16_t kFullMember = 0x8000;
  if (child.kind == ChildKind::ipoib && !pkey.empty())
    child.pkey = static_cast<uint16_t>(parse_pkey(pkey).value_or(0) | kFullMember);
  if (out.device.id && is_unit_of_shared(*out.device.id)) out.device.id.reset();
  if (!master.empty()) TRY(add_master(conf, master, out.device));
  out.child = child;
  return {};
}

Result<> refuse_device_keys(ObjectReader& conf, const NetConf& read) {
  if (!read.child) return {};
  const auto refuse = [&](const std::string& what) {
    return conf.error("mode", "the device stays in the host, so " + what + " has no place in this network");
  };
  if (!read.device.unit.empty()) return refuse("a unit of several devices (" + read.device.unit + ")");
  if (!read.vf.settings.empty() || read.vf.guid) return refuse("a setting of a VF or a GUID");
  if (read.vf.vfio_wanted) return refuse("vfioPciMode");
  if (!read.rdma.name.empty() || read.rdma.isolation) return refuse("rdmaName or rdmaIsolation");
  if (!read.link.tuning.empty()) return refuse("tuning of the device");
  if (!read.pod.link.empty()) return refuse("a link setting (promisc, txQLen, ...)");
  if (read.safety.host_config == HostConfigUse::move) return refuse("\"hostConfig\": \"move\"");
  if (read.safety.reset) return refuse("reset");
  const bool own_mac = read.link.mac.network && read.child->kind != ChildKind::macvlan;
  if (own_mac) return refuse(std::string("mac, which of ") + name_of(read.child->kind) + " is the host's,");
  return {};
}

}  // namespace vfrail::cni

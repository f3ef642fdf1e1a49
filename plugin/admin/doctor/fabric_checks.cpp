// InfiniBand: what the subnet manager has given the ports, and what networks and resources need of it.
#include "common/json.h"
#include "common/node/attachments.h"
#include "common/node/device_folder.h"
#include "common/pkey.h"
#include "common/text.h"
#include "plugin/admin/doctor/check.h"

#include <algorithm>
#include <optional>
#include <set>

namespace vfrail::plugin {

namespace {

// Drivers have 128 entries, mostly; IBTA allows 65535.
constexpr size_t kMaxPartitions = 1024;

using Partitions = std::set<uint16_t>;  // without the membership bit

struct ActivePort {
  const DeviceFacts* function;
  const RdmaFacts* rdma;
  const RdmaPort* port;
};

// Of InfiniBand. One that is not active has neither a subnet manager nor partitions, which VF-N10 says.
std::vector<ActivePort> active_ports(const Inventory& inventory) {
  std::vector<ActivePort> out;
  for (const DeviceFacts& function : inventory.functions) {
    if (function.manages_nvlink) continue;
    for (const RdmaFacts& rdma : function.rdma) {
      for (const RdmaPort& port : rdma.ports) {
        if (port.link_layer == "InfiniBand" && port.state == "ACTIVE")
          out.push_back({&function, &rdma, &port});
      }
    }
  }
  return out;
}

std::string port_folder(const ActivePort& active) {
  return rdma_port_folder(active.rdma->name, active.port->number);
}

// Of the ports of a function, or of all of the node. No value: no table can be seen.
Result<std::optional<Partitions>> read_partitions(const CheckedNode& node,
                                                  const std::optional<PciAddress>& only) {
  std::optional<Partitions> out;
  for (const ActivePort& active : active_ports(node.inventory)) {
    if (only && active.function->address != *only) continue;
    const DeviceFolder folder(node.sys, active.function->id, DeviceFolder::Use::many_files);
    const std::string table = port_folder(active) + "pkeys";
    auto entries = TRY(folder.list(table));
    entries.resize(std::min(entries.size(), kMaxPartitions));
    for (const std::string& entry : entries) {
      const auto pkey = parse_pkey(TRY(folder.text(table + "/" + entry)));
      if (!pkey) continue;
      if (!out) out.emplace();
      if (*pkey != 0) out->insert(*pkey);  // 0: the entry is free
    }
  }
  return out;
}

struct WantedPartition {
  std::string who;                    // "nvidia.com/ib selects", "net1 of pod demo/trainer-0, network ib has"
  std::string pkey;                   // as it is written
  std::optional<PciAddress> pf = {};  // no value: of any port
};

std::vector<WantedPartition> partitions_of(const Config& config) {
  std::vector<WantedPartition> out;
  for (const ResourceConfig& resource : config.resources) {
    for (const Selector& selector : resource.selectors) {
      for (const std::string& pkey : selector.list("pKeys"))
        out.push_back({resource.resource() + " selects", pkey});
    }
  }
  return out;
}

// The network's partition, if it has one and its device is known.
std::optional<WantedPartition> partition_of(const Record& record, const Inventory& inventory) {
  const auto network = Json::parse(record.config);
  const Json* pkey = network ? network->find("pkey") : nullptr;
  if (pkey == nullptr || pkey->as_text() == nullptr || !record.device) return std::nullopt;
  const auto function = std::find_if(inventory.functions.begin(), inventory.functions.end(),
                                     [&](const DeviceFacts& one) { return one.id == *record.device; });
  if (function == inventory.functions.end()) return std::nullopt;
  return WantedPartition{attachment_text(record) + " has", *pkey->as_text(),
                         function->pf.value_or(function->address)};
}

Result<std::vector<WantedPartition>> partitions_of(const std::string& cni_state, const Inventory& inventory) {
  std::vector<WantedPartition> out;
  const Attachments attachments(cni_state);
  for (const AttachmentName& name : TRY(attachments.list())) {
    const auto record = TRY(attachments.load(name));
    if (!record) continue;  // ended meanwhile
    if (auto wanted = partition_of(*record, inventory)) out.push_back(*std::move(wanted));
  }
  return out;
}

Result<CheckResults> compare(const CheckedNode& node, const std::vector<WantedPartition>& all) {
  CheckResults out;
  for (const WantedPartition& wanted : all) {
    const auto pkey = parse_pkey(wanted.pkey);
    if (!pkey) continue;  // the configuration's own error
    const auto partitions = TRY(read_partitions(node, wanted.pf));
    const std::string what = wanted.who + " partition " + wanted.pkey;
    if (!partitions)
      out.push_back(
          {Finding::unknown, what + ", and no partition table of an active InfiniBand port is here"});
    else if (!partitions->contains(*pkey))
      out.push_back({Finding::advice,
                     what + ", which is not in the table of " +
                         (wanted.pf ? wanted.pf->text() : std::string("any port here")),
                     "the subnet manager's partitions (partitions.conf of OpenSM, UFM) must have the port's "
                     "GUID; its table is /sys/class/infiniband/DEVICE/ports/1/pkeys"});
  }
  return out;
}

Result<CheckResults> check_partitions(const CheckedNode& node) {
  CheckResults out;
  if (node.config != nullptr) out = TRY(compare(node, partitions_of(*node.config)));
  if (node.cni_state.empty()) return out;
  const auto attached = partitions_of(node.cni_state, node.inventory);
  if (!attached)
    out.push_back({Finding::unknown, "the networks of pods: " + attached.error().text});
  else
    for (CheckResult& result : TRY(compare(node, *attached))) out.push_back(std::move(result));
  return out;
}

// Of the ports of PFs. The first line of the file is the LID, "0x1" (show_port_sm_lid() in ib_core).
Result<CheckResults> check_subnet_manager(const CheckedNode& node) {
  CheckResults out;
  for (const ActivePort& active : active_ports(node.inventory)) {
    if (active.function->is_vf()) continue;
    const std::string file = port_folder(active) + "sm_lid";
    if (TRY(DeviceFolder(node.sys, active.function->id).text(file)) != "0x0") continue;
    out.push_back({Finding::advice,
                   shown_device(*active.function) + ": port " + std::to_string(active.port->number) + " of " +
                       active.rdma->name + " is active and knows no subnet manager (sm_lid 0)",
                   "check that a subnet manager runs in the fabric: sminfo"});
  }
  return out;
}

Result<CheckResults> check_fabric(const CheckedNode& node) {
  if (active_ports(node.inventory).empty()) return CheckResults();
  CheckResults out = TRY(check_subnet_manager(node), "read the subnet manager");
  for (CheckResult& result : TRY(check_partitions(node), "read the partitions"))
    out.push_back(std::move(result));
  return out;
}

}  // namespace

const NodeChecks& fabric_checks() {
  static const NodeChecks kChecks = {
      {"VF-N44", "fabric", "InfiniBand ports have a subnet manager, and the partitions that are asked for",
       check_fabric, lacks_infiniband},
  };
  return kChecks;
}

}  // namespace vfrail::plugin

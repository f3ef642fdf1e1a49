#include "plugin/admin/plan/steps.h"

#include "common/text.h"

#include <algorithm>

namespace vfrail::plugin {

namespace {

bool is_exclusive(const PlanFacts& facts) {
  return facts.inventory.rdma_netns_mode == RdmaNetnsMode::exclusive;
}

// In exclusive mode the RDMA device moves with its netdev, in shared mode it stays.
void add_mode(const PlanFacts& facts, std::vector<Step>& out) {
  if (!is_exclusive(facts)) {
    const CheckResult* mode = find_result(facts, "VF-N04");
    out.push_back(
        {.name = "mode exclusive",
         .text = "for full isolation, RDMA namespace mode exclusive: in mode shared a pod can use its own "
                 "RDMA device alone, and sees the names of all" +
                 (mode == nullptr || mode->remedy.empty() ? "" : " (" + mode->remedy + ")"),
         .optional = true});
    return;
  }
  const CheckResult* cdi = find_result(facts, "VF-N34");
  const bool known = cdi != nullptr && cdi->finding != Finding::unknown;
  out.push_back(
      {"CDI",
       "a container runtime with CDI, which serve then uses (--use-cdi=auto): a move renumbers the nodes of "
       "RDMA devices" +
           (known ? std::string()
                  : " (whether this runtime has CDI is not known: needs its configuration)")});
}

std::string describe_all(const std::vector<const DeviceFacts*>& cards) {
  if (cards.size() == 1) return shown_device(*cards.front());
  std::vector<std::string> ids;
  for (const DeviceFacts* card : cards) ids.push_back(card->id.text());
  return first_few(ids);
}

void add_firmware(const std::vector<const DeviceFacts*>& cards, std::vector<Step>& out) {
  if (cards.empty()) return;
  const bool mlx5 = std::all_of(cards.begin(), cards.end(),
                                [](const DeviceFacts* card) { return card->driver.name() == "mlx5_core"; });
  const std::string at = cards.size() == 1 ? cards.front()->id.text() : "ADDRESS";
  out.push_back(
      {"firmware",
       "SR-IOV of " + describe_all(cards) +
           ": the kernel shows none (no sriov_totalvfs), so it is off in the firmware or the card has none; "
           "how many VFs: not known: needs " +
           (mlx5 ? "mlxconfig -d " + at + " query" : std::string("the vendor's tool")),
       mlx5 ? "mlxconfig -d " + at + " set SRIOV_EN=1 NUM_OF_VFS=N, and a reboot" : ""});
}

// One command for all cards: which of them is in `for`.
std::string for_each_card(const std::vector<const DeviceFacts*>& cards, const std::string& command) {
  std::vector<std::string> ids;
  for (const DeviceFacts* card : cards) ids.push_back(card->id.text());
  return "for card in " + joined(ids, " ") + "; do " + command + "; done";
}

void add_sriov(const RailGroup& group, std::vector<Step>& out) {
  std::vector<const DeviceFacts*> without;
  std::vector<const DeviceFacts*> with;
  uint32_t most = 0;
  for (const DeviceFacts* card : group.cards()) {
    (card->total_vfs == 0 ? without : with).push_back(card);
    if (card->total_vfs > 0) most = most == 0 ? card->total_vfs : std::min(most, card->total_vfs);
  }
  if (with.size() == 1)
    out.push_back({"VFs", "VFs of " + shown_device(*with[0]) + ", up to " + std::to_string(most),
                   "echo N > /sys/bus/pci/devices/" + with[0]->id.text() + "/sriov_numvfs"});
  if (with.size() > 1)
    out.push_back({"VFs",
                   "VFs of the " + counted(with.size(), "card") + ", up to " + std::to_string(most) + " each",
                   for_each_card(with, "echo N > /sys/bus/pci/devices/$card/sriov_numvfs")});
  add_firmware(without, out);
  if (group.fabric == Transport::infiniband)
    out.push_back({"GUIDs",
                   "a GUID for each VF, which the subnet manager accepts (guid in the network of vfrail-cni, "
                   "or ip link "
                   "set PF vf K node_guid ... port_guid ...)"});
}

void add_network(const PlanFacts& facts, std::vector<Step>& out) {
  const CheckResult* cni = find_result(facts, "VF-N31");
  if (cni != nullptr && cni->finding == Finding::good) return;
  const bool known = cni != nullptr && cni->finding != Finding::unknown;
  out.push_back(
      {"Multus",
       "Multus and vfrail-cni" +
           (known ? ": " + cni->text
                  : std::string(" (whether they are installed is not known: needs etc/cni/net.d and "
                                "opt/cni/bin of the node)"))});
}

std::vector<Step> steps_of_sharing(const PlanFacts& facts, Transport fabric) {
  std::vector<Step> out;
  if (is_exclusive(facts))
    out.push_back(
        {"mode shared",
         "RDMA namespace mode shared: in mode exclusive a pod does not see the host's devices; \"options "
         "ib_core netns_mode=1\" in /etc/modprobe.d, renew the initramfs, reboot"});
  if (takes_hosts_address(fabric))
    out.push_back({"hostNetwork", std::string("hostNetwork: true in the pod: ") + name_of(fabric) +
                                      " takes its addresses from the interface, which stays in the host"});
  return out;
}

// The pod's own text: nothing is allocated, and nothing counted.
std::vector<Step> steps_of_host_network() {
  return {{"hostNetwork",
           "in the pod hostNetwork: true, and /dev/infiniband by hostPath in a privileged container: kubelet "
           "counts "
           "nothing, and any such pod has every device of the node"}};
}

// An interface of the host on that fabric, with a link if one has it.
std::string interface_of(const RailGroup& group) {
  std::string out;
  for (const Rail& rail : group.rails) {
    const DeviceFacts& port = rail.any();
    if (out.empty() && !port.pf_name.empty()) out = port.pf_name;
    if (port.is_vf() || port.netdevs.empty()) continue;
    if (port.netdevs.front().carrier) return port.netdevs.front().name;
    if (out.empty()) out = port.netdevs.front().name;
  }
  return out;
}

std::vector<Step> steps_of_tcp(const RailGroup& group) {
  const std::string name = interface_of(group);
  if (name.empty())
    return {{"pod network",
             "the pods' network of the cluster, as it is (NCCL_IB_DISABLE=1, or no resource in the pod)"}};
  return {
      {"Multus", "Multus, and the CNI plugin " +
                     std::string(group.fabric == Transport::infiniband ? "ipoib" : "macvlan (or ipvlan)") +
                     " with \"master\": \"" + name + "\""}};
}

}  // namespace

bool takes_hosts_address(Transport fabric) { return fabric == Transport::roce || fabric == Transport::iwarp; }

const CheckResult* find_result(const PlanFacts& facts, std::string_view id) {
  for (const CheckReport& report : facts.checks) {
    if (report.id == id) return &report.results.front();
  }
  return nullptr;
}

std::vector<Step> steps_of(const PlanFacts& facts, const RailGroup& group, WayKind kind) {
  if (kind == WayKind::shared) return steps_of_sharing(facts, group.fabric);
  if (kind == WayKind::host_network) return steps_of_host_network();
  if (kind == WayKind::tcp) return steps_of_tcp(group);
  if (kind == WayKind::vfs && group.passed_through())
    return {{"the hypervisor",
             "this is a virtual machine, and its devices were passed through: only who made it can add VFs"}};
  std::vector<Step> out;
  if (kind == WayKind::vfs && group.vfs().empty()) add_sriov(group, out);
  if (kind == WayKind::sub_functions)
    out.push_back({"sub-functions",
                   "sub-functions of the card (Linux 5.13 or later, switchdev mode), and their activation",
                   "devlink dev eswitch set pci/" + group.rails.front().address.text() +
                       " mode switchdev; devlink port add pci/" + group.rails.front().address.text() +
                       " flavour pcisf pfnum 0 sfnum N; devlink port function set PORT state active"});
  if (group.addressed && kind != WayKind::vfs && kind != WayKind::sub_functions)
    out.push_back({"no addresses",
                   "the host's addresses removed from the cards: a card with one is not given to a pod"});
  add_network(facts, out);
  add_mode(facts, out);
  return out;
}

}  // namespace vfrail::plugin

// Dynamic Resource Allocation: kubelet's sockets of the driver, the agent of the API, and what is prepared
// for claims.
#include "common/container/cdi_spec.h"
#include "common/text.h"
#include "plugin/admin/doctor/check.h"
#include "plugin/admin/report/claim_facts.h"
#include "plugin/device/allocate/prepared_record.h"
#include "plugin/dra/agent_client.h"

#include <algorithm>
#include <set>
#include <string_view>

namespace vfrail::plugin {

namespace {

constexpr std::string_view kVerbsNodes = "/dev/infiniband/";

ClaimFacts facts_of(const CheckedNode& node, std::vector<Warning>& warnings) {
  return node.run_dir.empty() ? ClaimFacts() : read_claim_facts(node.run_dir, warnings);
}

ClaimFacts facts_of(const CheckedNode& node) {
  std::vector<Warning> warnings;
  return facts_of(node, warnings);
}

std::string lacks_offer(const CheckedNode& node) {
  return facts_of(node).offer ? "" : "no resource that goes by claims, or vfrail serve does not run";
}

std::string lacks_claims(const CheckedNode& node) {
  return facts_of(node).records.empty() ? "no claim that is prepared" : "";
}

// In the plugin's container some folders of the host have their own path. No value: it is in neither.
Result<std::optional<std::string>> find_path(const CheckedNode& node, const std::string& path) {
  const std::string name = path.substr(std::min(path.find_first_not_of('/'), path.size()));
  for (const SysRoot* root : {&node.sys, &node.kernel}) {
    if (TRY(root->exists(name))) return std::optional(root->path(name));
  }
  return std::optional<std::string>();
}

Result<CheckResults> check_driver(const CheckedNode& node) {
  const ClaimFacts facts = facts_of(node);
  if (!facts.offer) {
    if (facts.records.empty()) return CheckResults();
    return CheckResults{
        {Finding::fault,
         counted(facts.records.size(), "claim") +
             " prepared, and vfrail serve does not run, or without --dra-socket: kubelet cannot release "
             "them, and their pods stay Terminating",
         "start vfrail serve with --dra-socket (chart: dra.enabled) until these pods have ended"}};
  }
  const OfferState& offer = *facts.offer;
  const std::string instance = offer.instance.empty() ? "" : "-" + offer.instance;
  CheckResults out;
  for (const std::string& socket :
       {node.kubelet_root + "/plugins_registry/" + offer.driver + instance + "-reg.sock",
        node.kubelet_root + "/plugins/" + offer.driver + "/dra" + instance + ".sock"}) {
    const std::string folder = socket.substr(0, socket.rfind('/'));
    if (!TRY(find_path(node, folder))) return CheckResults{{Finding::unknown, folder + " is not there"}};
    if (TRY(find_path(node, socket))) continue;
    out.push_back({Finding::fault, socket + " is not there: kubelet does not find the driver " + offer.driver,
                   "the log of vfrail serve says why; --kubelet-root must be the folder of kubelet"});
  }
  return out;
}

// A claim that nobody has: that it is not there is an answer of the API server.
Result<CheckResults> check_agent(const CheckedNode& node) {
  const ClaimFacts facts = facts_of(node);
  if (!facts.offer) return CheckResults();
  const auto socket = TRY(find_path(node, facts.offer->socket));
  if (!socket)
    return CheckResults{{Finding::unknown, facts.offer->socket +
                                               " is not there: it is in the pod of vfrail, where doctor "
                                               "can ask it (kubectl exec)"}};
  const auto claim = AgentClient(*socket).claim({"default", "vfrail-doctor", "none"});
  if (claim) return CheckResults();
  return CheckResults{{Finding::fault, claim.error().text,
                       "the log of the container with vfrail-kube node; running pods keep their devices, "
                       "new ones wait"}};
}

Result<CheckResults> check_published(const CheckedNode& node) {
  const ClaimFacts facts = facts_of(node);
  if (!facts.offer || facts.offer->published) return CheckResults();
  return CheckResults{{Finding::advice, "the devices are " + facts.offer->text(),
                       "`vfrail explain " + (facts.offer->id.empty() ? "VF-NOT-OFFERED" : facts.offer->id) +
                           "`; until then pods that claim one stay Pending, or go elsewhere"}};
}

// kubelet removes the folder of a pod when the pod has ended and its claims are released.
Result<CheckResults> check_records(const CheckedNode& node) {
  std::vector<Warning> warnings;
  const ClaimFacts facts = facts_of(node, warnings);
  CheckResults out;
  for (const Warning& one : warnings) out.push_back({Finding::advice, one.text, "the text says it"});
  if (facts.records.empty()) return out;
  const std::string folder = node.kubelet_root + "/pods";
  const auto pods = TRY(find_path(node, folder));
  if (!pods) {
    if (out.empty()) out.push_back({Finding::unknown, folder + " is not there"});
    return out;
  }
  for (const ClaimRecord& record : facts.records) {
    if (TRY(find_path(node, folder + "/" + record.pod.uid))) continue;
    out.push_back({Finding::advice, record.text() + " is prepared, and that pod is not on this node any more",
                   "vfrail serve unprepares it within 5 minutes when the API server has the claim no more; "
                   "its log says why not"});
  }
  return out;
}

const DeviceFacts* function_of(const Inventory& inventory, const std::string& id) {
  const auto at = std::find_if(inventory.functions.begin(), inventory.functions.end(),
                               [&](const DeviceFacts& function) { return function.id.text() == id; });
  return at == inventory.functions.end() ? nullptr : &*at;
}

// What a container would get that the device does not have. Of a device that a pod has only vfrail-cni knows.
std::vector<std::string> find_old_nodes(const CdiSpec& spec, const Inventory& inventory) {
  std::vector<std::string> out;
  const DeviceFacts* function = function_of(inventory, spec.device);
  if (function == nullptr || function->attached || function->away()) return out;
  for (const DeviceNode& one : spec.edits.nodes) {
    const std::string name = one.host_path.substr(one.host_path.rfind('/') + 1);
    const bool numbered = one.host_path.starts_with(kVerbsNodes) && name.starts_with("uverbs");
    const auto& now = function->verbs_nodes;
    if (numbered && std::find(now.begin(), now.end(), name) == now.end()) out.push_back(name);
  }
  return out;
}

Result<CheckResults> check_spec(const CheckedNode& node, const std::string& path, const ClaimRecord& record) {
  const std::string remedy =
      "restart the pod of vfrail on this node, which writes the specs of all claims anew";
  const auto found = TRY(find_path(node, path));
  if (!found)
    return CheckResults{{Finding::fault,
                         path + " is not there: no container of " + record.text() + " is created any more",
                         remedy}};
  const auto spec = read_cdi_spec(*found);
  if (!spec || !*spec)
    return CheckResults{{Finding::unknown, path + ": " + (spec ? "it is just removed" : spec.error().text)}};
  const auto old = find_old_nodes(**spec, node.inventory);
  if (old.empty()) return CheckResults();
  return CheckResults{{Finding::fault,
                       path + " has " + joined(old) + ", and device " + (*spec)->device +
                           " has other numbers now: a container of " + record.text() +
                           " would get another's device, or is not created",
                       remedy}};
}

Result<CheckResults> check_claim_specs(const CheckedNode& node) {
  CheckResults out;
  for (const ClaimRecord& record : facts_of(node).records) {
    const auto prepared = read_prepared(node.run_dir, record.claim.uid);
    if (!prepared) {
      out.push_back({Finding::unknown, record.text() + ": " + prepared.error().text});
      continue;
    }
    if (!*prepared || !(*prepared)->edits) continue;  // kubelet asks again, and nothing runs with it
    for (const std::string& path : (*prepared)->files.paths) {
      const std::string name = path.substr(path.rfind('/') + 1);
      if (!name.starts_with(kCdiFilePrefix) || !name.ends_with(".json")) continue;
      for (CheckResult& result : TRY(check_spec(node, path, record))) out.push_back(std::move(result));
    }
  }
  return out;
}

}  // namespace

const NodeChecks& dra_checks() {
  static const NodeChecks kChecks = {
      {"VF-N47", "dra-driver", "kubelet finds the DRA driver by its sockets", check_driver, lacks_offer},
      {"VF-N48", "dra-agent", "vfrail-kube node answers, and the API server answers it", check_agent,
       lacks_offer},
      {"VF-N49", "dra-published", "the devices that go by claims are in ResourceSlices", check_published,
       lacks_offer},
      {"VF-N50", "claim-records", "each prepared claim is of a pod on this node", check_records,
       lacks_claims},
      {"VF-N51", "claim-specs", "the CDI specs of prepared claims have the devices' numbers of today",
       check_claim_specs, lacks_claims},
  };
  return kChecks;
}

}  // namespace vfrail::plugin

// Kubelet, CNI, the container runtime, and what it finds in /dev and in the CDI folders.
#include "common/container/cdi_outline.h"
#include "common/container/cdi_runtime.h"
#include "common/container/cdi_spec.h"
#include "common/node/attachments.h"
#include "common/node/lock_limit.h"
#include "common/programs.h"
#include "common/text.h"
#include "plugin/admin/doctor/check.h"
#include "plugin/documents/yaml.h"

#include <algorithm>
#include <cerrno>
#include <map>

namespace vfrail::plugin {

namespace {

constexpr const char* kCniConfigurations = "etc/cni/net.d";
constexpr uint64_t kLittleMemlock = 64 << 20;  // less than RDMA programs pin at their start

// SysRoot's paths are those below the root.
std::string below(const std::string& folder) {
  return folder.substr(std::min(folder.find_first_not_of('/'), folder.size()));
}
std::string kubelet(const CheckedNode& node) { return below(node.kubelet_root); }
std::string cni_programs(const CheckedNode& node) { return below(node.cni_bin_dir); }

CheckResults unknown(const SysRoot& sys, const std::string& folder) {
  return {{Finding::unknown, sys.path(folder) + " is not there"}};
}

// In the plugin's container some of the host's folders have their own path, and are not below /host
// (manifests/daemonset.yaml).
Result<SysRoot> root_of(const CheckedNode& node, const std::string& folder) {
  const bool beside = !TRY(node.sys.exists(folder)) && TRY(node.kernel.exists(folder));
  return beside ? node.kernel : node.sys;
}

// The socket of kubelet in one of its folders. `missing` is the finding where there is none, with what that
// means as its text.
Result<CheckResults> check_socket(const CheckedNode& node, const char* name, CheckResult missing) {
  const std::string folder = kubelet(node) + "/" + name;
  const SysRoot sys = TRY(root_of(node, folder));
  if (!TRY(sys.exists(folder))) return unknown(sys, folder);
  if (TRY(sys.exists(folder + "/kubelet.sock"))) return CheckResults();
  missing.text = sys.path(folder) + " has no kubelet.sock: " + missing.text;
  return CheckResults{std::move(missing)};
}

Result<CheckResults> check_kubelet(const CheckedNode& node) {
  return check_socket(
      node, "device-plugins",
      {Finding::fault, "kubelet does not run, or has another root",
       "start kubelet; if its --root-dir is another one, vfrail serve needs it as --kubelet-root"});
}

Result<CheckResults> check_topology_manager(const CheckedNode& node) {
  std::vector<std::optional<int>> nodes;
  for (const Gpu& gpu : node.inventory.gpus) {
    if (std::find(nodes.begin(), nodes.end(), gpu.numa_node) == nodes.end()) nodes.push_back(gpu.numa_node);
  }
  if (nodes.size() < 2) return CheckResults();
  const std::string file = kubelet(node) + "/config.yaml";
  const auto text = TRY(node.sys.text(file));
  if (!text) return unknown(node.sys, file);
  std::string policy = "none";  // kubelet's default
  for (const Json& document : TRY(read_yaml(*text), "read " + node.sys.path(file))) {
    const Json* found = document.find("topologyManagerPolicy");
    if (found != nullptr && found->as_text() != nullptr) policy = *found->as_text();
  }
  if (policy != "none") return CheckResults();
  return CheckResults{
      {Finding::advice,
       "topologyManagerPolicy is none, and the GPUs are on several NUMA nodes: a pod can get a GPU "
       "of one and a VF of the other",
       "topologyManagerPolicy: best-effort, restricted or single-numa-node in kubelet's configuration"}};
}

// A record of this boot: Multus has called vfrail-cni.
Result<bool> has_been_called(const CheckedNode& node) {
  const std::string boot = TRY(boot_id(node.kernel));
  if (boot.empty() || node.cni_state.empty()) return false;
  const Attachments attachments(node.cni_state);
  for (const AttachmentName& name : TRY(attachments.list())) {
    const auto record = attachments.load(name);
    if (record && *record && (*record)->boot_id == boot) return true;
  }
  return false;
}

// The runtime takes the first file by name (libcni).
Result<CheckResults> check_multus(const CheckedNode& node) {
  auto names = TRY(node.sys.list(kCniConfigurations));
  if (!names && TRY(has_been_called(node)))
    return CheckResults{{Finding::good, "vfrail-cni has attached pods since the node's boot"}};
  if (!names) return unknown(node.sys, kCniConfigurations);
  std::erase_if(*names, [](const std::string& name) {
    return !name.ends_with(".conf") && !name.ends_with(".conflist") && !name.ends_with(".json");
  });
  const std::string folder = node.sys.path(kCniConfigurations);
  if (names->empty())
    return CheckResults{{Finding::fault, folder + " has no configuration: no pod gets a network",
                         "install the cluster's CNI plugin, then Multus"}};
  const std::string first = std::string(kCniConfigurations) + "/" + names->front();
  const auto text = TRY(node.sys.text(first));
  if (!text) return unknown(node.sys, first);  // a dangling link
  if (text->find("multus") != std::string::npos) return CheckResults();
  return CheckResults{{Finding::fault,
                       folder + "/" + names->front() +
                           " comes first and is not that of Multus: networks in annotations have no effect",
                       "Multus' file must be the first by name, such as 00-multus.conf"}};
}

// Shared devices stay in the host: their pods need no network. Without a configuration nothing is known.
bool needs_networks(const CheckedNode& node) {
  if (node.config == nullptr || node.config->resources.empty()) return true;
  const auto& resources = node.config->resources;
  return !std::all_of(resources.begin(), resources.end(), shares);
}

Result<CheckResults> check_programs(const CheckedNode& node) {
  const std::string folder = cni_programs(node);
  const auto names = TRY(node.sys.list(folder));
  if (!names) return unknown(node.sys, folder);
  const auto has = [&](const char* name) {
    return std::find(names->begin(), names->end(), name) != names->end();
  };
  CheckResults out;
  if (needs_networks(node) && !has(kCniProgram) && !has("vfrail-cni"))
    out.push_back({Finding::fault, node.sys.path(folder) + " has neither vfrail nor vfrail-cni",
                   "the DaemonSet's container install-cni installs it; by hand: vfrail-cni install DIR"});
  const bool mounts_check = node.config != nullptr &&
                            std::any_of(node.config->resources.begin(), node.config->resources.end(),
                                        [](const ResourceConfig& resource) { return resource.mount_check; });
  if (mounts_check && !has(kCheckProgram))
    out.push_back({Finding::advice,
                   node.sys.path(folder) + " has no vfrail-check, so containers get none (mountCheck)",
                   "vfrail-cni install --check /usr/bin/vfrail-check DIR"});
  return out;
}

Result<CheckResults> check_cni(const CheckedNode& node) {
  CheckResults out;
  if (needs_networks(node))
    out = TRY(check_multus(node));
  else
    out.push_back({Finding::good, "every resource shares its devices, so pods need no network of vfrail"});
  for (CheckResult& result : TRY(check_programs(node))) out.push_back(std::move(result));
  if (out.size() > 1)
    std::erase_if(out, [](const CheckResult& result) { return result.finding == Finding::good; });
  // Whether pods of this node need a network is not known then.
  for (CheckResult& result : out) {
    if (node.config == nullptr) result.finding = std::min(result.finding, Finding::advice);
  }
  return out;
}

// Our specs in a folder that the runtime does not read: no container starts with what they define.
Result<std::vector<std::string>> unread_specs(const CheckedNode& node, const CdiRuntime& runtime) {
  std::vector<std::string> out;
  for (const std::string folder : kCdiFolders) {
    if (runtime.reads("/" + folder)) continue;
    const SysRoot sys = TRY(root_of(node, folder));
    for (const std::string& name : TRY(sys.list(folder)).value_or(SysRoot::Names())) {
      if (name.starts_with(kCdiFilePrefix)) out.push_back(sys.path(folder) + "/" + name);
    }
  }
  return out;
}

Result<CheckResults> check_cdi(const CheckedNode& node) {
  const CdiRuntime runtime = TRY(find_cdi_runtime(node.sys));
  if (runtime.support == CdiSupport::unknown)
    return CheckResults{{Finding::unknown, runtime.why + "; serve with --use-cdi=auto leaves CDI off"}};
  if (runtime.support == CdiSupport::yes) {
    const auto unread = TRY(unread_specs(node, runtime));
    if (!unread.empty())
      return CheckResults{{Finding::fault,
                           "the container runtime reads CDI specs in " + joined(runtime.folders, " and ") +
                               " alone (cdi_spec_dirs), and there is " + first_few(unread),
                           "mount that folder into the DaemonSet and name it by --cdi-dir (chart: cdi.dir), "
                           "and delete these files when the pods that have them have ended"}};
    return CheckResults{{Finding::good, runtime.why + ", with specs in " + joined(runtime.folders, " and ")}};
  }
  const bool exclusive = node.inventory.rdma_netns_mode == RdmaNetnsMode::exclusive;
  if (!exclusive) return CheckResults{{Finding::good, runtime.why + "; the RDMA mode does not need CDI"}};
  return CheckResults{{Finding::advice,
                       runtime.why + ": an RDMA device that is renumbered by its move makes the pod fail",
                       "enable CDI in the container runtime; vfrail serve then uses it (--use-cdi=auto)"}};
}

std::string text_of(const Json& json, const char* key) {
  const Json* value = json.find(key);
  return value == nullptr || value->as_text() == nullptr ? std::string() : *value->as_text();
}

struct CdiFile {
  std::string path;
  size_t priority;  // of its folder
  bool beside;      // the container has the folder, and not all that its hooks are in
  Json spec;
};

// Files that cannot be read go to `out`. No value: there is no folder of specs.
Result<std::optional<std::vector<CdiFile>>> read_cdi_files(const CheckedNode& node, CheckResults& out) {
  std::vector<CdiFile> files;
  bool any = false;
  size_t priority = 0;
  for (const std::string folder : kCdiFolders) {
    ++priority;
    const SysRoot sys = TRY(root_of(node, folder));
    const bool beside = sys.path("") != node.sys.path("");
    const auto names = TRY(sys.list(folder));
    any |= names.has_value();
    for (const std::string& name : names.value_or(SysRoot::Names())) {
      if (!name.ends_with(".json") && !name.ends_with(".yaml")) continue;
      const std::string path = sys.path(folder) + "/" + name;
      const auto text = sys.text(folder + "/" + name, AccessTime::kept);
      auto documents = text ? read_yaml(text->value_or("")) : Result<std::vector<Json>>(text.error());
      if (!documents)
        out.push_back({Finding::unknown, path + ": " + documents.error().text});
      else if (!documents->empty())
        files.push_back({path, priority, beside, std::move(documents->front())});
    }
  }
  return any ? std::optional(std::move(files)) : std::nullopt;
}

const Json::Array& array_of(const Json* json, const char* key) {
  static const Json::Array kNone;
  const Json* value = json == nullptr ? nullptr : json->find(key);
  return value == nullptr || value->as_array() == nullptr ? kNone : *value->as_array();
}

// Of two folders the latter one's device counts; a device that two files of one folder define is a conflict
// to CDI's library, which then injects neither (Cache.refresh() of tags.cncf.io/container-device-interface).
Result<CheckResults> check_cdi_specs(const CheckedNode& node) {
  CheckResults out;
  const auto specs = TRY(read_cdi_files(node, out));
  if (!specs) return unknown(node.sys, "var/run/cdi");
  using ByFolder = std::map<size_t, std::vector<std::string>>;
  std::map<std::string, ByFolder> files_of;  // by qualified name
  for (const auto& [path, priority, beside, spec] : *specs) {
    for (const Json& device : array_of(&spec, "devices"))
      files_of[text_of(spec, "kind") + "=" + text_of(device, "name")][priority].push_back(path);
  }
  std::map<std::pair<std::string, std::string>, std::vector<std::string>>
      hidden;  // devices, by the two files
  for (const auto& [name, folders] : files_of) {
    const auto& files = folders.rbegin()->second;
    if (files.size() > 1)
      out.push_back(
          {Finding::fault,
           "CDI device " + name + " is defined by " + joined(files) + ": the runtime injects neither",
           "remove the file that no plugin writes any more"});
    else if (folders.size() > 1)
      hidden[{files.front(), folders.begin()->second.front()}].push_back(name);
  }
  for (const auto& [files, names] : hidden)
    out.push_back({Finding::note, files.first + " hides " + first_few(names) + " of " + files.second,
                   "none is needed if both are of one program; else remove the file that is out of date"});
  return out;
}

// The runtime does not start a container whose hook is not there.
Result<CheckResults> check_cdi_hooks(const CheckedNode& node) {
  CheckResults out;
  const auto specs = TRY(read_cdi_files(node, out));
  if (!specs) return unknown(node.sys, "var/run/cdi");
  std::map<std::string, std::vector<std::string>> files_of;  // by the hook's path
  bool beside = false;
  for (const CdiFile& file : *specs) {
    beside |= file.beside;
    for (const std::string& hook : hooks_of(file.spec)) files_of[hook].push_back(file.path);
  }
  for (const auto& [hook, files] : files_of) {
    if (!hook.starts_with("/") || TRY(node.sys.exists(hook.substr(1)))) continue;
    if (beside && !TRY(node.sys.exists(hook.substr(1, hook.rfind('/'))))) {
      out.push_back({Finding::unknown, "the folder of the CDI hook " + hook + " of " + first_few(files) +
                                           " is not mounted here"});
      continue;
    }
    out.push_back({Finding::fault,
                   "the CDI hook " + hook + " of " + first_few(files) +
                       " is not there: no container with these devices is created",
                   "install what the hook belongs to again, or remove the spec"});
  }
  return out;
}

Result<CheckResults> check_pod_resources(const CheckedNode& node) {
  return check_socket(
      node, "pod-resources",
      {Finding::advice, "reports and metrics have no pods, and a device whose pod is gone is found late",
       "start kubelet, 1.20 or later"});
}

Result<CheckResults> check_whereabouts(const CheckedNode& node) {
  const std::string file = std::string(kCniConfigurations) + "/whereabouts.d/whereabouts.kubeconfig";
  if (!TRY(node.sys.exists(cni_programs(node) + "/whereabouts"))) return CheckResults();
  if (!TRY(node.sys.list(kCniConfigurations))) return unknown(node.sys, kCniConfigurations);
  if (TRY(node.sys.exists(file))) return CheckResults();
  return CheckResults{{Finding::advice,
                       "whereabouts is installed and " + node.sys.path(file) +
                           " is not there: networks that name no other kubeconfig get no address",
                       "run whereabouts' DaemonSet on this node, or name the file in the network's ipam"}};
}

// What a process may lock; no value: its file is not there, or it ended meanwhile.
Result<std::optional<LockLimit>> lock_limit_of(const SysRoot& sys, const std::string& process) {
  const auto limits = sys.text("proc/" + process + "/limits");
  if (!limits && limits.error().sys == ESRCH) return std::optional<LockLimit>();
  if (!limits) return limits.error();
  return *limits ? parse_lock_limit(**limits) : std::nullopt;
}

void evaluate_limit(const std::string& who, const LockLimit& limit, CheckResults& out) {
  if (limit.allows(kLittleMemlock)) return;
  out.push_back({Finding::advice,
                 who + " may lock " + std::to_string(limit.bytes >> 10) +
                     " KiB, and so may each container: memory of RDMA programs that do not run as root with "
                     "IPC_LOCK cannot be registered",
                 "memlock in the resource, which needs CDI; or LimitMEMLOCK=infinity in a drop-in of the "
                 "container runtime's service, and restart it"});
}

Result<CheckResults> check_memlock(const CheckedNode& node) {
  const auto* resources = node.config == nullptr ? nullptr : &node.config->resources;
  if (resources != nullptr && !resources->empty() &&
      std::all_of(resources->begin(), resources->end(),
                  [](const ResourceConfig& resource) { return resource.memlock.has_value(); }))
    return CheckResults{{Finding::good, "containers get their limit by the resources' memlock"}};
  bool found = false;
  CheckResults out;
  for (const std::string& process : TRY(node.sys.list("proc")).value_or(SysRoot::Names())) {
    if (process.find_first_not_of("0123456789") != std::string::npos) continue;
    const auto program = node.sys.text("proc/" + process + "/comm").or_none();
    if (program != "containerd" && program != "crio") continue;
    const auto limit = TRY(lock_limit_of(node.sys, process));
    if (!limit) continue;
    found = true;
    evaluate_limit(*program, *limit, out);
  }
  // In the plugin's container: the runtime gives every container the same limit.
  const bool in_container = node.sys.path("") != node.kernel.path("");
  const auto own = !found && in_container ? TRY(lock_limit_of(node.kernel, "self")) : std::nullopt;
  if (own) evaluate_limit("this container", *own, out);
  if (!found && !own)
    return CheckResults{{Finding::unknown, "no containerd or crio in " + node.sys.path("proc")}};
  return out;
}

Result<CheckResults> check_device_nodes(const CheckedNode& node) {
  const std::string folder = "dev/infiniband";
  const auto names = TRY(node.sys.list(folder));
  std::vector<std::string> missing;
  for (const DeviceFacts& function : node.inventory.functions) {
    for (const std::string& verbs : function.verbs_nodes) {
      if (!names || std::find(names->begin(), names->end(), verbs) == names->end()) missing.push_back(verbs);
    }
  }
  if (missing.empty()) return CheckResults();
  if (!names || !TRY(node.sys.exists("dev/null"))) return unknown(node.sys, folder);  // a captured tree
  return CheckResults{{Finding::fault, node.sys.path(folder) + " lacks " + first_few(missing),
                       "udevadm trigger --subsystem-match=infiniband_verbs; in a container: mount the host's "
                       "/dev/infiniband"}};
}

}  // namespace

const NodeChecks& kubernetes_checks() {
  static const NodeChecks kChecks = {
      {"VF-N28", "kubelet", "kubelet takes registrations of device plugins", check_kubelet},
      {"VF-N29", "topology-manager", "GPUs and devices are aligned, or all GPUs are on one NUMA node",
       check_topology_manager, lacks_gpus},
      {"VF-N30", "pod-resources", "kubelet's pod-resources API is available", check_pod_resources},
      {"VF-N31", "cni", "Multus is the first CNI plugin, and vfrail's is installed", check_cni},
      {"VF-N32", "whereabouts", "whereabouts is not installed, or its kubeconfig is there",
       check_whereabouts},
      {"VF-N34", "cdi", "the container runtime takes CDI devices", check_cdi},
      {"VF-N35", "cdi-specs", "no CDI device is defined twice", check_cdi_specs},
      {"VF-N36", "memlock", "the container runtime may lock memory", check_memlock},
      {"VF-N37", "cdi-hooks", "every hook of a CDI spec is there", check_cdi_hooks},
      {"VF-N39", "device-nodes", "every RDMA device has its node below /dev", check_device_nodes, lacks_rdma},
  };
  return kChecks;
}

}  // namespace vfrail::plugin

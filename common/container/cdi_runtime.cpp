#include "common/container/cdi_runtime.h"

#include "common/text.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace vfrail {

namespace {

using Texts = std::vector<std::string>;

constexpr const char* kContainerd = "etc/containerd/config.toml";
// Talos, k3s, RKE2, k0s, MicroK8s: containerd of their own for kubelet, whatever else the node has.
constexpr const char* kOfDistributions[] = {
    "etc/cri/containerd.toml", "var/lib/rancher/k3s/agent/etc/containerd/config.toml",
    "var/lib/rancher/rke2/agent/etc/containerd/config.toml", "etc/k0s/containerd.toml",
    "var/snap/microk8s/current/args/containerd.toml"};
constexpr int kVersionOfContainerd2 = 3;

// Of both runtimes, and of CDI's library.
const Texts& default_folders() {
  static const Texts kFolders = {"/etc/cdi", "/var/run/cdi"};
  return kFolders;
}

CdiRuntime decide_folders(const RuntimeConfig& config, CdiRuntime out) {
  out.folders = config.all.cdi_spec_dirs.value_or(default_folders());
  if (!out.folders.empty()) return out;
  out.support = CdiSupport::no;
  out.why = config.file + " has no folder in cdi_spec_dirs";
  return out;
}

CdiRuntime decide_containerd(const RuntimeConfig& config) {
  if (config.all.cri_disabled)
    return {CdiSupport::unknown, config.file + " disables the CRI plugin, so kubelet has another runtime"};
  if (!config.unknown.empty()) return {CdiSupport::unknown, config.unknown};
  if (config.all.enable_cdi && !*config.all.enable_cdi)
    return decide_folders(config, {CdiSupport::no, config.file + " has enable_cdi = false"});
  if (config.all.enable_cdi) {
    CdiRuntime enabled{CdiSupport::yes, config.file + " enables CDI"};
    enabled.may_be_ignored = config.all.version < kVersionOfContainerd2;
    return decide_folders(config, std::move(enabled));
  }
  if (config.all.version >= kVersionOfContainerd2)
    return decide_folders(config,
                          {CdiSupport::yes, config.file + " is of containerd 2, which has CDI enabled"});
  return {CdiSupport::unknown,
          config.file + " does not set enable_cdi, and containerd before 2.0 has it off"};
}

CdiRuntime decide(const FoundRuntime& found) {
  CdiRuntime out = found.is_crio
                       ? decide_folders(found.config, {CdiSupport::yes, "CRI-O reads CDI specs since 1.23"})
                       : decide_containerd(found.config);
  out.is_kubelets = found.is_kubelets;
  return out;
}

std::string without_var(std::string_view folder) {
  while (folder.size() > 1 && folder.ends_with('/')) folder.remove_suffix(1);
  return std::string(folder.starts_with("/var/run/") ? folder.substr(4) : folder);
}

}  // namespace

bool CdiRuntime::reads(std::string_view folder) const {
  return std::any_of(folders.begin(), folders.end(),
                     [&](const std::string& one) { return without_var(one) == without_var(folder); });
}

Result<std::vector<FoundRuntime>> find_runtimes(const SysRoot& sys) {
  std::vector<FoundRuntime> out;
  for (const char* file : kOfDistributions) {
    if (auto config = TRY(read_containerd_config(sys, file)))
      return std::vector<FoundRuntime>{{file, *std::move(config), false, true}};
  }
  if (auto config = TRY(read_containerd_config(sys, kContainerd)))
    out.push_back({kContainerd, *std::move(config)});
  if (auto config = TRY(read_crio_config(sys))) out.push_back({kCrioConfig, *std::move(config), true});
  return out;
}

Result<CdiRuntime> find_cdi_runtime(const SysRoot& sys) {
  std::vector<CdiRuntime> all;
  for (const FoundRuntime& found : TRY(find_runtimes(sys))) all.push_back(decide(found));
  if (all.empty())
    return CdiRuntime{CdiSupport::unknown, "no configuration of a runtime can be read below " + sys.path("")};
  const bool agree = std::all_of(all.begin(), all.end(), [&](const CdiRuntime& one) {
    return one.support == all.front().support && one.folders == all.front().folders;
  });
  if (agree) return all.front();
  return CdiRuntime{CdiSupport::unknown,
                    "which runtime kubelet uses is not known: " + all.front().why + "; " + all.back().why};
}

std::string find_missing_cdi(const SysRoot& sys, const std::string& spec) {
  const auto runtime = find_cdi_runtime(sys);
  if (!runtime || runtime->support == CdiSupport::unknown) return "";
  const std::string folder = spec.substr(0, spec.rfind('/'));
  const bool read = runtime->support == CdiSupport::yes && runtime->reads(folder);
  if (read) return "";
  // Kubelet's runtime can be one of these, and that containerd one that Docker uses or nobody any more. Not
  // by CRI-O's folder, which the DaemonSet's mount makes.
  for (const char* other : {"run/crio/crio.sock", "var/lib/rancher", "var/lib/k0s", "var/snap/microk8s",
                            "run/cri-dockerd.sock"}) {
    if (!runtime->is_kubelets && sys.exists(other).value_or(true)) return "";
  }
  if (runtime->support == CdiSupport::no) return runtime->why;
  return "it reads " + joined(runtime->folders, " and ") + " alone (cdi_spec_dirs), not " + folder;
}

Texts with_folders_of_runtime(const std::string& path, Texts folders, const SysRoot& sys) {
  const std::string folder = path.substr(0, path.rfind('/'));
  if (std::find(folders.begin(), folders.end(), folder) != folders.end()) return folders;
  const auto runtime = find_cdi_runtime(sys);
  for (const std::string& one : runtime ? runtime->folders : Texts()) {
    if (std::find(folders.begin(), folders.end(), one) == folders.end()) folders.push_back(one);
  }
  return folders;
}

}  // namespace vfrail

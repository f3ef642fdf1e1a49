#include "common/container/cdi_runtime.h"

#include "common/text.h"

#include <algorithm>
#include <cctype>

namespace vfrail {

namespace {

constexpr const char* kContainerd = "etc/containerd/config.toml";

// "enable_cdi=false" of "  enable_cdi = false  # why"; TOML's strings do not matter here.
std::string squeezed(std::string_view line) {
  std::string out(line.substr(0, line.find('#')));
  std::erase_if(out, [](unsigned char c) { return std::isspace(c) != 0; });
  return out;
}

}  // namespace

CdiSupport cdi_support_of_containerd(std::string_view config) {
  CdiSupport by_version = CdiSupport::unknown;
  bool off = false;
  bool imports = false;
  for (const std::string& raw : split(std::string(config), "\n")) {
    const std::string line = squeezed(raw);
    if (line == "enable_cdi=true") return CdiSupport::yes;
    if (line == "enable_cdi=false") off = true;
    if (line == "version=3") by_version = CdiSupport::yes;
    if (line.starts_with("imports=") && line != "imports=[]") imports = true;
  }
  if (!off) return by_version;
  return imports ? CdiSupport::unknown : CdiSupport::no;
}

Result<CdiRuntime> find_cdi_runtime(const SysRoot& sys) {
  if (const auto config = TRY(sys.text(kContainerd))) {
    switch (cdi_support_of_containerd(*config)) {
      case CdiSupport::yes:
        return CdiRuntime{CdiSupport::yes, sys.path(kContainerd) + " enables CDI"};
      case CdiSupport::no:
        return CdiRuntime{CdiSupport::no, sys.path(kContainerd) + " has enable_cdi = false"};
      case CdiSupport::unknown:
        return CdiRuntime{CdiSupport::unknown, sys.path(kContainerd) +
                                                   " does not decide enable_cdi (a file that it imports "
                                                   "can), and containerd before 2.0 has it off"};
    }
  }
  if (TRY(sys.exists("etc/crio"))) return CdiRuntime{CdiSupport::yes, "CRI-O reads CDI specs since 1.23"};
  return CdiRuntime{CdiSupport::unknown, "no configuration of a runtime can be read below " + sys.path("")};
}

std::string find_missing_cdi(const SysRoot& sys) {
  const auto runtime = find_cdi_runtime(sys);
  if (!runtime || runtime->support != CdiSupport::no) return "";
  // Kubelet's runtime can be one of these, and that containerd one that Docker uses or nobody any more.
  for (const char* other :
       {"etc/crio", "var/lib/rancher", "var/lib/k0s", "var/snap/microk8s", "run/cri-dockerd.sock"}) {
    if (sys.exists(other).value_or(true)) return "";
  }
  return runtime->why;
}

}  // namespace vfrail

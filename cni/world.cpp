#include "cni/world.h"

#include "common/netlink_kernel.h"
#include "common/promise.h"

namespace vfrail {

namespace {

Result<std::unique_ptr<Kernel>> open_netns(const std::string& path) {
  auto netns = TRY(Netns::open(path), "");
  if (!netns) return std::unique_ptr<Kernel>();
  return NetlinkKernel::open(std::move(*netns));
}

}  // namespace

std::string variable(const Environment& environment, const char* name, const char* fallback) {
  const auto at = environment.find(name);
  return at == environment.end() || at->second.empty() ? fallback : at->second;
}

std::string state_folder(const Environment& environment) {
  return variable(environment, "VFRAIL_STATE_DIR", "/var/lib/cni/vfrail");
}

World make_world(const Environment& environment, Kernel& host, RecordStore store, Log& log) {
  return {host,
          SysRoot(variable(environment, "VFRAIL_ROOT", "/")),
          std::move(store),
          variable(environment, "VFRAIL_RUN_DIR", kRunFolder),
          open_netns,
          log};
}

}  // namespace vfrail

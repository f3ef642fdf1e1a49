#include "cni/environment.h"

#include "cni/node/upper_links.h"
#include "cni/node/upper_search.h"
#include "common/container/allocated_nodes.h"
#include "common/netlink/netlink_kernel.h"
#include "common/node/sys_root.h"

namespace vfrail::cni {

namespace {

Result<std::unique_ptr<Kernel>> open_netns(const std::string& path) {
  auto netns = TRY(Netns::open(path));
  if (!netns) return std::unique_ptr<Kernel>();
  return NetlinkKernel::open(std::move(*netns));
}

std::string state_folder(const Environment& environment) {
  return variable(environment, "VFRAIL_STATE_DIR", "/var/lib/cni/vfrail");
}

std::string run_folder(const Environment& environment) {
  return variable(environment, "VFRAIL_RUN_DIR", kRunFolder);
}

}  // namespace

std::string variable(const Environment& environment, const char* name, const char* fallback) {
  const auto at = environment.find(name);
  return at == environment.end() || at->second.empty() ? fallback : at->second;
}

Result<RecordStore> open_store(const Environment& environment) {
  return RecordStore::open(state_folder(environment), run_folder(environment) + "/locks");
}

RecordStore open_store_read_only(const Environment& environment) {
  return RecordStore::open_read_only(state_folder(environment), run_folder(environment) + "/locks");
}

World make_world(const Environment& environment, Kernel& host, RecordStore store, Log& log) {
  World out{host,
            SysRoot(normal_root(variable(environment, "VFRAIL_ROOT", "/"))),
            std::move(store),
            run_folder(environment),
            open_netns,
            log,
            erase_without_uppers};
  out.upper_links = upper_links_of(out.sys, out.store.folder(), log);
  for (const auto& [name, folders] : {std::pair("VFRAIL_DEVINFO_DIR", &out.device_info_folders),
                                      std::pair("VFRAIL_CDI_DIR", &out.cdi_folders)}) {
    if (const std::string folder = variable(environment, name, ""); !folder.empty()) *folders = {folder};
  }
  return out;
}

}  // namespace vfrail::cni

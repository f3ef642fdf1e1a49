// `vfrail render`: the NetworkAttachmentDefinitions that network-operator makes of HostDeviceNetworks,
// MacvlanNetworks and IPoIBNetworks.
#pragma once

#include <string>

namespace vfrail::plugin {

struct RenderOptions {
  std::string file;                  // "-": stdin
  std::string type = "host-device";  // of HostDeviceNetworks
};

// Exit code: 0 done, 1 stdout is closed, 2 the file is wrong, be it one network; then nothing is printed.
int render(const RenderOptions& options);

}  // namespace vfrail::plugin

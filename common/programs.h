// vfrail's programs on a node, where `vfrail-cni install` puts them, and vfrail-check in containers.
#pragma once

namespace vfrail {

// Where container runtimes look for CNI plugins. OpenShift: /var/lib/cni/bin.
inline constexpr const char* kCniFolder = "/opt/cni/bin";
inline constexpr const char* kCniProgram = "vfrail";
inline constexpr const char* kCheckProgram = "vfrail-check";

// In containers (`mountCheck`). Not below /run/vfrail, which is a mount that is read-only: no runtime could
// make a place for another mount there.
inline constexpr const char* kCheckMount = "/usr/local/bin/vfrail-check";

}  // namespace vfrail

// The words of vfrail's command line, put into one form before they are parsed: flags in Go's spelling, and
// what DaemonSets of the peers start the image with. Pure.
#pragma once

#include <string>
#include <vector>

namespace vfrail::plugin {

// From argv, without the program's name. A flag with one dash gets two ("-config-file=F", "-v=10": Go's
// package flag takes both). "serve" comes in front
// - if the first word is a flag other than that for help or the version: `vfrail --log-dir=sriovdp
//   --log-level=10` is what sriov-network-device-plugin's DaemonSet makes of our image;
// - if the program was started under a peer's name ("sriovdp", "k8s-rdma-shared-dp").
// "--version", and "-v" without a number (k8s-rdma-shared-dev-plugin's word for it), is "version".
std::vector<std::string> read_arguments(const std::vector<std::string>& argv);

// `words` with the options of the daemon that `daemon` is the command line of (argv; empty, or of something
// else: as they are), in front of their own, which win: the configuration, the prefix and the folders that
// `serve` was started with are what the other commands of its container are about. Only those of the
// `options` that the command has; none when --root names another tree.
std::vector<std::string> with_options_of(const std::vector<std::string>& daemon,
                                         std::vector<std::string> words,
                                         const std::vector<std::string>& options);

// The default path of the configuration: the first that `exists`, of sriov-network-device-plugin's,
// k8s-rdma-shared-dev-plugin's and k8s-rdma-sriov-dev-plugin's files; the first of all if none exists.
inline constexpr const char* kDefaultConfigFiles[] = {"/etc/pcidp/config.json",
                                                      "/k8s-rdma-shared-dev-plugin/config.json",
                                                      "/k8s-rdma-sriov-dev-plugin/config.json"};
template <class Exists>
std::string default_config_file(Exists exists) {
  for (const std::string file : kDefaultConfigFiles) {
    if (exists(file)) return file;
  }
  return kDefaultConfigFiles[0];
}

}  // namespace vfrail::plugin

// `vfrail inspect` and `vfrail capture`: the commands that only read a node. Answers on stdout, errors on
// stderr.
#pragma once

#include "common/result.h"
#include "plugin/admin/report/filter.h"
#include "plugin/admin/report/pods.h"

#include <cstdint>
#include <string>

namespace vfrail::plugin {

struct InspectOptions {
  enum class Output : uint8_t {
    table,  // as wide as the terminal
    wide,   // all columns, whole lines
    name,   // the ids alone
    json,
    yaml,
  };

  std::string root = "/";
  std::string kubelet_root = kKubeletRoot;
  std::string config_file;  // empty: the facts alone
  std::string resource_prefix = kPeersPrefix;
  bool strict = false;
  Output output = Output::table;
  bool no_headers = false;
  DeviceFilter filter;
  bool explain = false;    // why each of them is where it is
  bool distances = false;  // between devices, and to GPUs, in place of the facts
};

// Exit code: 0 done, 1 the node or one of its devices cannot be read, 2 the configuration is wrong.
int inspect(const InspectOptions& options, const AskKubelet& ask_kubelet);

// What `-o json` prints, for a program that asks this one. An unread device is in it, and no error.
Result<std::string> inspect_page(const InspectOptions& options, const AskKubelet& ask_kubelet);

struct CaptureOptions {
  std::string root = "/";
  std::string folder;
};

// Exit code: 0 done, 1 failed.
int capture(const CaptureOptions& options);

}  // namespace vfrail::plugin

// The subcommands that only look: `vfrail inspect`, `vfrail capture`. Answers on stdout, errors on
// stderr.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace vfrail {

struct InspectOptions {
  enum class Output : uint8_t {
    text,  // on a terminal as wide as that is, with the first reason of each function; elsewhere as wide
    wide,  // whole lines, all reasons
    name,  // the ids alone
    json,
  };

  std::string root = "/";
  std::string config_file;  // empty: the facts alone
  std::string resource_prefix = "intel.com";
  bool strict = false;
  Output output = Output::text;
  // Why each function is where it is: of that name, of all if it is empty; nothing: the table of all.
  std::optional<std::string> explain;
  bool distances = false;  // between devices, and to GPUs, in place of the facts
};

// Exit code: 0 done, 1 the node or one of its devices cannot be read, 2 the configuration is wrong.
int inspect(const InspectOptions& options);

struct CaptureOptions {
  std::string root = "/";
  std::string folder;
};

// Exit code: 0 done, 1 failed.
int capture(const CaptureOptions& options);

}  // namespace vfrail

// Request: what the runtime asks for, from the CNI_* environment (CNI specification 1.1, "CNI operations").
// Checks that each verb has what it needs. Does not depend on the configuration.
#pragma once

#include "cni/conf/net_conf.h"
#include "common/result.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vfrail::cni {

enum class Command : uint8_t { add, del, check, gc, status, version };

struct Request {
  Command command = Command::version;
  std::string container_id;                 // 1-200 letters, digits, "_.-"; starts with a letter or digit
  std::string netns;                        // a path; may be empty for DEL
  IfName ifname;                            // empty: the verb has none, or ADD refuses it (never_attached)
  std::map<std::string, std::string> args;  // CNI_ARGS
  std::string raw_args;
  std::vector<std::string> path;  // CNI_PATH: absolute folders
  std::string raw_path;
  Configuration config;  // stdin
  IfName rail_of;        // it is one of several rails of the attachment of that name; else empty
  // Of a DEL: why no ADD of this container and interface can have succeeded, though libcni accepts their
  // names; it has nothing to do. Empty: one can.
  std::string never_attached;
  bool netns_override = false;  // CNI_NETNS_OVERRIDE: the pod's namespace may be the plugin's own
};

using Environment = std::map<std::string, std::string>;

// Errc::invalid names every variable that is missing or wrong.
Result<Request> read_request(const Environment& environment, Configuration config);

// CNI_COMMAND. No value: it is missing or unknown.
std::optional<Command> read_command(const Environment& environment);

// Whether the command, as it is written, has a configuration on stdin. VERSION needs none, and one that is
// missing or unknown is reported without waiting for it.
bool has_configuration(const Environment& environment);

const char* command_name(Command command);  // "ADD"

}  // namespace vfrail::cni

// The CNI protocol around the verbs: what the environment and stdin of a call come to, which calls are
// answered without their verb, and how an error is answered (CNI specification 1.1, "CNI operations",
// "Error"). Reads, prints and attaches nothing: cni/run_cni.h does.
#pragma once

#include "cni/conf/request.h"
#include "common/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace vfrail::cni {

// What can be found of a call, in the order in which it counts.
enum class Finding : uint8_t {
  stdin_unreadable,
  stdin_too_long,   // for any ADD, but its DEL comes
  bad_environment,  // a variable is missing or wrong
  nested,           // vfrail has been started by itself, as an IPAM plugin
  other_version,    // cniVersion is not supported, or older than the verb
  not_json,
  beyond_a_limit,  // JSON, which others can read: so it comes to a DEL as well
  mistyped,        // its version or name is of another JSON type
  refused,         // for one of its keys
  never_attached,  // under these names no ADD can have succeeded (Request::never_attached)
  accepted,        // always the last
};

enum class Answer : uint8_t {
  next,      // decides nothing: the next finding does
  run,       // the verb
  succeed,   // without the verb: there is nothing to do
  versions,  // those that are supported
  // An error, with this code where it has none of its own (cni_code()).
  io_failure,
  invalid_environment,
  incompatible_version,
  decode_failure,
  invalid_config,
};

// The table of the protocol.
Answer answer_to(Finding finding, Command command);

struct Call {
  struct Found {
    Finding finding;
    Error error;
  };

  Command command = Command::version;  // also if it is missing or unknown, which is a finding
  std::vector<Found> findings;         // in their order
  std::string version;                 // of the configuration, as far as that can be read
  Request request;                     // empty if the environment is bad
};

// `text` is what has been read of stdin; Error::sys is 0 if there was more than could be read.
Call read_call(const Environment& environment, Result<std::string> text);

struct Reply {
  int status = 0;      // the exit code
  std::string text;    // for stdout; empty: nothing
  std::string remark;  // for the log: why there is nothing to do
};

// No value: the verb is run.
std::optional<Reply> reply_to(const Call& call);
// To a call whose verb has failed.
Reply reply_to_failure(const Call& call, const Error& error);

}  // namespace vfrail::cni

// What an answer of the API server that is not a success means, as an Error. Pure.
#pragma once

#include "common/json.h"
#include "common/result.h"

#include <string>
#include <string_view>

namespace vfrail::kube {

// Error::sys of a server that is too busy (Errc::busy, as other refusals are).
constexpr int kTooManyRequests = 429;

// `what` is the request: "GET /api/v1/nodes". `body` is a Status of the API, or what a proxy on the way says.
// Error::sys is the HTTP status; codes as api_client.h has them.
Error refusal(const std::string& what, unsigned status, std::string_view body);
// Of the Status in an event ERROR of a watch.
Error refusal_of_event(const std::string& what, const Json& status);

// Of a program that kubelet ran in a pod the last message (a Status): its exit code, or why nothing ran.
Result<int> read_end_of_command(std::string_view status);

}  // namespace vfrail::kube

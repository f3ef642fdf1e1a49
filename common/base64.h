// Base64 (RFC 4648, section 4), as encoding/json writes a []byte and kubeconfigs have certificates. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace vfrail {

// No value: it is something else.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace vfrail

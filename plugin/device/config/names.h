// Resource names: which ones kubelet accepts, and the names made from them (declared in config.h).
#pragma once

#include "common/result.h"

#include <string_view>
#include <vector>

namespace vfrail::plugin {

struct ResourceConfig;

// Letters, digits, '_' and '-', a letter or digit at both ends, at most 63 characters.
Result<> check_resource_name(std::string_view name);
// A DNS subdomain in lower case.
Result<> check_resource_prefix(std::string_view prefix);

// A socket's name that another resource's socket has, too, becomes PREFIX_NAME.sock, which is of one resource
// alone: a prefix has no '_'.
void make_sockets_distinct(std::vector<ResourceConfig>& resources);

}  // namespace vfrail::plugin

// The addresses of a host's name, by c-ares: the C library's resolver loads shared libraries, which a program
// that is linked statically cannot.
#pragma once

#include "common/result.h"

#include <chrono>
#include <string>
#include <vector>

namespace vfrail::kube {

// Texts of addresses, in the order to try them; an address is its own. Of /etc/hosts, then of the servers in
// /etc/resolv.conf. Errc::not_found: the name has no address; Errc::timeout.
Result<std::vector<std::string>> addresses_of(const std::string& host, std::chrono::milliseconds time);

}  // namespace vfrail::kube

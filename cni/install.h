// `vfrail-cni install`: copies this program into the host's folder of CNI plugins, and vfrail-check with it,
// so that a runtime that starts it at any moment finds the old or the new one, complete (CNI runtimes see
// ETXTBSY when a plugin is written in place).
#pragma once

#include "common/result.h"

#include <string>

namespace vfrail::cni {

// As FOLDER/NAME, mode 0755: temporary file, fsync, rename. Does nothing if an identical file is there.
Result<> install(const std::string& folder, const std::string& name);

// The program in `file` as FOLDER/vfrail-check, in the same way. Errc::not_found if there is no such file.
Result<> install_check(const std::string& folder, const std::string& file);

// Whether a file is this program, byte for byte.
Result<bool> is_this_program(const std::string& path);

}  // namespace vfrail::cni

// `vfrail-cni install`: copies this program into the host's folder of CNI plugins, and vfrail-check with it,
// so that a runtime that starts it at any moment finds the old or the new one, complete (CNI runtimes see
// ETXTBSY when a plugin is written in place).
#pragma once

#include "common/result.h"

#include <string>

namespace vfrail::cni {

// Copies this program to FOLDER/NAME, mode 0755, by temporary file, fsync and rename. Does nothing if an
// identical file is there.
Result<> install(const std::string& folder, const std::string& name);

// Copies the program in `file` to FOLDER/vfrail-check, mode 0755, by temporary file, fsync and rename.
// Errc::not_found if there is no such file.
Result<> install_check(const std::string& folder, const std::string& file);

// Whether a file is this program, byte for byte.
Result<bool> is_this_program(const std::string& path);

}  // namespace vfrail::cni

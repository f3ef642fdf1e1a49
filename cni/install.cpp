#include "cni/install.h"

#include "common/files.h"
#include "common/programs.h"

#include <sys/stat.h>

namespace vfrail::cni {

namespace {
// A release is 3 MB; a build with debug information and sanitizers comes near 100 MB.
constexpr size_t kMaxProgramBytes = 256 << 20;

Result<std::string> this_program() {
  const UniqueFd self = TRY(open_for_reading("/proc/self/exe"));
  return read_stream(self.get(), kMaxProgramBytes);
}

Result<> put_program(const std::string& path, const std::string& program) {
  const auto there = read_file(path, kMaxProgramBytes);
  if (there && *there == program) return {};
  return write_file(path, program, 0755, Durability::synced);
}

}  // namespace

Result<bool> is_this_program(const std::string& path) {
  struct stat file = {};
  struct stat self = {};
  if (::lstat(path.c_str(), &file) != 0 || ::stat("/proc/self/exe", &self) != 0) return false;
  if (!S_ISREG(file.st_mode) || file.st_size != self.st_size) return false;
  const auto there = TRY(read_file(path, kMaxProgramBytes));
  return there && *there == TRY(this_program(), "read /proc/self/exe");
}

Result<> install(const std::string& folder, const std::string& name) {
  const bool plain = !name.empty() && name.find('/') == std::string::npos && name != "." && name != "..";
  if (!plain) return Error{Errc::invalid, 0, "\"" + name + "\" is not a file name"};
  return put_program(folder + "/" + name, TRY(this_program(), "read /proc/self/exe"));
}

Result<> install_check(const std::string& folder, const std::string& file) {
  const auto program = TRY(read_file(file, kMaxProgramBytes));
  if (!program) return Error{Errc::not_found, 0, file + " is not there"};
  return put_program(folder + "/" + kCheckProgram, *program);
}

}  // namespace vfrail::cni

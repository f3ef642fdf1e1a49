#include "common/result.h"

#include <cerrno>
#include <cstring>

namespace vfrail {

namespace {

Errc code_of(int sys) {
  switch (sys) {
    case ENOENT:
    case ENODEV:
    case ENXIO:
    case ESRCH:
      return Errc::not_found;
    case EEXIST:
      return Errc::exists;
    case EBUSY:
    case EAGAIN:
      return Errc::busy;
    case EPERM:
    case EACCES:
      return Errc::denied;
    case EOPNOTSUPP:
    case ENOSYS:
    case EPROTONOSUPPORT:
      return Errc::unsupported;
    case ETIMEDOUT:
      return Errc::timeout;
    case EINVAL:
    case ERANGE:
    case ENAMETOOLONG:
      return Errc::invalid;
    default:
      return Errc::system;
  }
}

}  // namespace

Error&& Error::in(std::string_view what) && {
  if (!what.empty()) text = std::string(what) + ": " + text;
  return std::move(*this);
}

Error&& Error::and_also(std::string_view other) && {
  if (!other.empty()) text += "; also: " + std::string(other);
  return std::move(*this);
}

std::string errno_text(int sys) {
  const char* name = strerrorname_np(sys);
  const char* description = strerrordesc_np(sys);
  if (name == nullptr || description == nullptr) return "errno " + std::to_string(sys);
  return std::string(name) + " (" + description + ")";
}

Error Error::from_errno(int sys, std::string_view what) {
  std::string text(what);
  if (!text.empty()) text += ": ";
  return Error{code_of(sys), sys, text + errno_text(sys)};
}

}  // namespace vfrail

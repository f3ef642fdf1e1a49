#include "common/result.h"

#include "common/errors/error_id.h"

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

ErrorId generic_id(Errc code) {
  switch (code) {
    case Errc::invalid:
      return ErrorId::invalid_input;
    case Errc::not_found:
      return ErrorId::not_found;
    case Errc::exists:
      return ErrorId::already_there;
    case Errc::wrong_netns:
      return ErrorId::netns_gone;
    case Errc::busy:
    case Errc::not_yet:
      return ErrorId::busy;
    case Errc::denied:
      return ErrorId::permission_denied;
    case Errc::unsupported:
      return ErrorId::not_supported;
    case Errc::timeout:
      return ErrorId::timed_out;
    case Errc::protocol:
      return ErrorId::malformed;
    case Errc::peer:
      return ErrorId::refused_by_peer;
    case Errc::system:
      break;
  }
  return ErrorId::system_call;
}

}  // namespace

ErrorId Error::id() const { return specific.value_or(generic_id(code)); }

std::string Error::id_text() const { return vfrail::id_text(id()); }

std::string Error::text_with_id() const { return vfrail::text_with_id(text, id()); }

Error&& Error::with_id(ErrorId id) && {
  if (!specific) specific = id;
  return std::move(*this);
}

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

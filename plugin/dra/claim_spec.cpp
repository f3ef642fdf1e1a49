#include "plugin/dra/claim_spec.h"

#include "common/programs.h"
#include "plugin/device/allocate/cdi.h"

#include <cctype>
#include <chrono>

namespace vfrail::plugin {

namespace {

// CDI allows letters, digits and "_-.:". Requests are named by DNS labels, so that '_' is in none of them.
std::string encoded(const std::string& request) {
  std::string out = request;
  for (char& c : out) {
    const bool good = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.';
    if (!good) c = '_';
  }
  return out;
}

// It reads a few small files; one that hangs would hold the container.
constexpr std::chrono::seconds kClaimHookTimeout{10};

}  // namespace

CdiSpec claim_spec(const std::string& uid, const std::string& request) {
  return {kClaimCdiKind, uid + "-" + encoded(request), {}};
}

std::string claim_cdi_id(const std::string& uid, const std::string& request) {
  return claim_spec(uid, request).qualified_name();
}

std::string request_variable(const std::string& request) {
  std::string out = "VFRAIL_REQUEST_";
  for (const char c : request.substr(0, request.find('/'))) {
    const auto byte = static_cast<unsigned char>(c);
    out += std::isalnum(byte) != 0 ? static_cast<char>(std::toupper(byte)) : '_';
  }
  return out;
}

Hook claim_hook(const std::string& uid, const std::string& cni_folder) {
  return {.name = "createRuntime",
          .path = cni_folder + "/" + kCniProgram,
          .args = {"vfrail", "hook", "claim", uid},
          .env = {},
          .timeout = kClaimHookTimeout};
}

}  // namespace vfrail::plugin

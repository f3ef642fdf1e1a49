#include "plugin/kube/client/credentials.h"

#include "common/files.h"
#include "common/json.h"
#include "common/text.h"
#include "plugin/kube/access/exec_plugin.h"

namespace vfrail::kube {

namespace {

// A token that names the rights of many groups has some KiB; a bundle of all public CAs 200 KiB.
constexpr size_t kMaxTokenBytes = 64 * 1024;
constexpr size_t kMaxPemBytes = 1 << 20;
constexpr std::chrono::seconds kTokenAge{60};
// A token must not end while the request with it is on its way.
constexpr std::chrono::seconds kBeforeItsEnd{30};

// Files of a service account are symbolic links, which are followed.
Result<std::string> read_material(const Material& material, size_t limit) {
  if (material.file.empty()) return material.text;
  const auto fd = TRY(open_for_reading(material.file));
  return TRY(read_stream(fd.get(), limit), material.file);
}

std::string without_line_ends(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) text.pop_back();
  return text;
}

}  // namespace

Result<> Credentials::run_plugin() {
  const ExecCredential made = TRY(run_exec_plugin(access_.exec, access_));
  token_ = made.token;
  certificate_ = made.certificate;
  key_ = made.key;
  expires_ = made.expires;
  return {};
}

Result<> Credentials::refresh(Clock::time_point now) {
  const bool ends = expires_ && std::chrono::system_clock::now() + kBeforeItsEnd >= *expires_;
  if (!access_.exec.command.empty()) {
    if (read_at_ && !ends) return {};
    TRY(run_plugin(), access_.source);
  } else {
    if (read_at_ && now - *read_at_ < kTokenAge) return {};
    token_ = without_line_ends(TRY(read_material(access_.token, kMaxTokenBytes), "the token"));
    // It becomes a header: a line end in it would begin another.
    if (has_control_characters(token_))
      return Error{Errc::invalid, 0, "the token of " + access_.source + " has control characters"};
  }
  read_at_ = now;
  return {};
}

Result<std::string> Credentials::token(Clock::time_point now) {
  TRY(refresh(now));
  return token_;
}

Result<TlsMaterial> Credentials::tls(Clock::time_point now) {
  TRY(refresh(now));
  TlsMaterial out;
  out.authority = TRY(read_material(access_.authority, kMaxPemBytes), "the CA of " + access_.source);
  if (access_.authority.is_given() && out.authority.empty())
    return Error{Errc::invalid, 0, "the CA of " + access_.source + " is empty"};
  out.certificate = certificate_;
  out.key = key_;
  if (!certificate_.empty()) return out;
  out.certificate = TRY(read_material(access_.certificate, kMaxPemBytes), "client certificate");
  out.key = TRY(read_material(access_.key, kMaxPemBytes), "client key");
  return out;
}

}  // namespace vfrail::kube

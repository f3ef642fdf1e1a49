#include "plugin/kube/client/tls_stream.h"

#include "common/ip_address.h"
#include "plugin/kube/client/name_lookup.h"

#include <boost/asio/ip/tcp.hpp>
#include <memory>
#include <mutex>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>
#include <vector>

namespace vfrail::kube {

namespace asio = boost::asio;
namespace beast = boost::beast;
using boost::system::error_code;
using std::chrono::milliseconds;

namespace {

// A connection whose other end is gone without a word (a node that lost power): asked after 15 s, ended 15 s
// later.
constexpr int kKeepIdle = 15;
constexpr int kKeepInterval = 5;
constexpr int kKeepCount = 3;

Error tls_error(const char* what) {
  char text[256] = {};
  ERR_error_string_n(ERR_get_error(), text, sizeof text);
  ERR_clear_error();
  return Error{Errc::invalid, 0, std::string(what) + ": " + text};
}

Result<asio::ssl::context> make_context(const TlsMaterial& tls) {
  asio::ssl::context out(asio::ssl::context::tls_client);
  SSL_CTX* raw = out.native_handle();
  SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION);
  SSL_CTX_set_verify(raw, SSL_VERIFY_PEER, nullptr);
  // A watch waits for minutes; without this its connection keeps 34 KB for what may come.
  SSL_CTX_set_mode(raw, SSL_MODE_RELEASE_BUFFERS);
  error_code failed;
  if (tls.authority.empty()) {
    out.set_default_verify_paths(failed);
  } else {
    out.add_certificate_authority(asio::buffer(tls.authority), failed);
  }
  if (failed) return Error{Errc::invalid, 0, "the CA: no certificate in PEM: " + failed.message()};
  if (tls.certificate.empty()) return out;
  out.use_certificate_chain(asio::buffer(tls.certificate), failed);
  if (failed) return Error{Errc::invalid, 0, "client certificate: " + failed.message()};
  out.use_private_key(asio::buffer(tls.key), asio::ssl::context::pem, failed);
  if (failed) return Error{Errc::invalid, 0, "client key: " + failed.message()};
  if (SSL_CTX_check_private_key(raw) != 1)
    return tls_error("client key is not that of the client certificate");
  return out;
}

// With the CA's certificates and tables of its own a context is larger than a connection: connections of the
// same material share one. The material is kept to know it again; it is in this process's memory anyway.
Result<std::shared_ptr<asio::ssl::context>> context_of(const TlsMaterial& tls) {
  static std::mutex mutex;
  static std::weak_ptr<asio::ssl::context> made;
  static TlsMaterial made_of;
  const std::lock_guard lock(mutex);
  auto out = made.lock();
  if (out != nullptr && made_of == tls) return out;
  // Not within the expression that allocates: its memory would be lost when TRY returns from there.
  asio::ssl::context context = TRY(make_context(tls));
  out = std::make_shared<asio::ssl::context>(std::move(context));
  made = out;
  made_of = tls;
  return out;
}

void watch_other_end(int fd) {
  const int on = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &kKeepIdle, sizeof kKeepIdle);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &kKeepInterval, sizeof kKeepInterval);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &kKeepCount, sizeof kKeepCount);
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace

bool TlsStream::has_input() {
  pollfd socket{boost::beast::get_lowest_layer(layers_).socket().native_handle(), POLLIN, 0};
  return ::poll(&socket, 1, 0) > 0;
}

Error TlsStream::failure(error_code failed, const char* what) const {
  const std::string where = std::string(what) + " " + title_;
  if (stop_.stop_requested()) return Error{Errc::not_yet, 0, where + ": ended, because the program ends"};
  if (failed == beast::error::timeout) return Error{Errc::timeout, ETIMEDOUT, where + ": no answer in time"};
  if (failed.category() == boost::system::system_category()) return Error::from_errno(failed.value(), where);
  return Error{Errc::protocol, 0, where + ": " + failed.message()};
}

Error TlsStream::tls_failure(error_code failed) {
  SSL* ssl = layers_.native_handle();
  const long verified = SSL_get_verify_result(ssl);
  if (verified == X509_V_OK) return failure(failed, "TLS with");
  std::string text =
      "TLS with " + title_ + ": its certificate is refused: " + X509_verify_cert_error_string(verified);
  if (verified == X509_V_ERR_HOSTNAME_MISMATCH || verified == X509_V_ERR_IP_ADDRESS_MISMATCH)
    text += " (tls-server-name of a kubeconfig names another)";
  return Error{Errc::denied, 0, std::move(text)};
}

Result<> TlsStream::prepare_tls(const Peer& peer) {
  SSL* ssl = layers_.native_handle();
  X509_VERIFY_PARAM* wanted = SSL_get0_param(ssl);
  const std::string& name = peer.verified_name;
  const bool is_address = IpAddress::parse(name).has_value();
  const int done = is_address ? X509_VERIFY_PARAM_set1_ip_asc(wanted, name.c_str())
                              : X509_VERIFY_PARAM_set1_host(wanted, name.c_str(), name.size());
  if (done != 1) return tls_error("the name to verify");
  if (!is_address) SSL_set_tlsext_host_name(ssl, name.c_str());
  static constexpr unsigned char kProtocols[] = "\x08http/1.1";
  SSL_set_alpn_protos(ssl, kProtocols, sizeof kProtocols - 1);
  return {};
}

Result<> TlsStream::shake_hands(const Peer& peer, milliseconds time) {
  const bool v6 = peer.host.find(':') != std::string::npos;
  title_ = (v6 ? "[" + peer.host + "]" : peer.host) + ":" + std::to_string(peer.port);
  std::vector<asio::ip::tcp::endpoint> endpoints;
  for (const std::string& address : TRY(addresses_of(peer.host, time))) {
    error_code ignored;
    const auto parsed = asio::ip::make_address(address, ignored);
    if (!ignored) endpoints.emplace_back(parsed, peer.port);
  }
  TRY(prepare_tls(peer));
  auto& tcp = beast::get_lowest_layer(layers_);
  // A part of the time for each, so that one that is silent does not take that of the others.
  error_code failed = asio::error::host_not_found;
  for (size_t i = 0; failed && i < endpoints.size(); ++i) {
    tcp.close();
    failed = run(time / static_cast<int>(endpoints.size()),
                 [&](auto done) { tcp.async_connect(endpoints[i], done); });
  }
  if (failed) return failure(failed, "connect to");
  watch_other_end(tcp.socket().native_handle());
  failed = run(time, [&](auto done) { layers_.async_handshake(asio::ssl::stream_base::client, done); });
  if (failed) return tls_failure(failed);
  return {};
}

Result<std::unique_ptr<TlsStream>> TlsStream::connect(const Peer& peer, const TlsMaterial& tls,
                                                      milliseconds time, std::stop_token stop) {
  auto context = TRY(context_of(tls));
  std::unique_ptr<TlsStream> out(new TlsStream(std::move(context), std::move(stop)));
  TRY(out->shake_hands(peer, time));
  return out;
}

}  // namespace vfrail::kube

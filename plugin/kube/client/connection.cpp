#include "plugin/kube/client/connection.h"

#include "common/ip_address.h"
#include "common/text.h"
#include "plugin/kube/client/name_lookup.h"

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <limits>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

namespace vfrail::kube {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::system::error_code;
using std::chrono::milliseconds;

namespace {

constexpr uint32_t kMaxHeadBytes = 64 * 1024;
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

void watch_other_end(int fd) {
  const int on = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &kKeepIdle, sizeof kKeepIdle);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &kKeepInterval, sizeof kKeepInterval);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &kKeepCount, sizeof kKeepCount);
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace

class Connection::Stream {
 public:
  Stream(asio::ssl::context context, std::stop_token stop)
      : context_(std::move(context)), stream_(io_, context_), stop_(std::move(stop)) {}

  Result<> connect(const Peer& peer, milliseconds time);
  Result<HttpHead> request(const HttpRequest& request, milliseconds time);
  Result<size_t> read(std::span<char> buffer, milliseconds time);
  bool is_reusable() const {
    return !broken_ && (!parser_ || (parser_->is_done() && parser_->get().keep_alive()));
  }
  bool has_answer() const { return has_answer_; }

 private:
  // Starts an operation with a callback for its end, and runs it. The thread that asks for a stop has the
  // connection closed by this one.
  template <class Start>
  error_code run(milliseconds time, Start start) {
    error_code result = asio::error::would_block;
    if (stop_.stop_requested()) return asio::error::operation_aborted;
    auto& tcp = beast::get_lowest_layer(stream_);
    tcp.expires_after(time);
    start([&result](error_code failed) { result = failed; });
    const std::stop_callback end(
        stop_, [this] { asio::post(io_, [this] { beast::get_lowest_layer(stream_).close(); }); });
    io_.restart();
    io_.run();
    if (result) broken_ = true;
    return result;
  }
  Error failure(error_code failed, const char* what) const;
  Error tls_failure(error_code failed) const;
  Result<> prepare_tls(const Peer& peer);

  asio::io_context io_{1};
  asio::ssl::context context_;
  asio::ssl::stream<beast::tcp_stream> stream_;
  const std::stop_token stop_;
  std::string title_;  // "10.0.0.1:6443"
  beast::flat_buffer buffer_{kMaxHeadBytes};
  std::optional<http::response_parser<http::buffer_body>> parser_;
  bool broken_ = false;
  bool has_answer_ = false;
};

Error Connection::Stream::failure(error_code failed, const char* what) const {
  const std::string where = std::string(what) + " " + title_ + ": ";
  if (stop_.stop_requested()) return Error{Errc::not_yet, 0, where + "ended, because the program ends"};
  if (failed == beast::error::timeout) return Error{Errc::timeout, ETIMEDOUT, where + "no answer in time"};
  if (failed.category() == boost::system::system_category()) return Error::from_errno(failed.value(), where);
  return Error{Errc::protocol, 0, where + failed.message()};
}

Error Connection::Stream::tls_failure(error_code failed) const {
  SSL* ssl = const_cast<asio::ssl::stream<beast::tcp_stream>&>(stream_).native_handle();
  const long verified = SSL_get_verify_result(ssl);
  if (verified == X509_V_OK) return failure(failed, "TLS with");
  std::string text =
      "TLS with " + title_ + ": its certificate is refused: " + X509_verify_cert_error_string(verified);
  if (verified == X509_V_ERR_HOSTNAME_MISMATCH || verified == X509_V_ERR_IP_ADDRESS_MISMATCH)
    text += " (tls-server-name of a kubeconfig names another)";
  return Error{Errc::denied, 0, std::move(text)};
}

Result<> Connection::Stream::prepare_tls(const Peer& peer) {
  SSL* ssl = stream_.native_handle();
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

Result<> Connection::Stream::connect(const Peer& peer, milliseconds time) {
  const bool v6 = peer.host.find(':') != std::string::npos;
  title_ = (v6 ? "[" + peer.host + "]" : peer.host) + ":" + std::to_string(peer.port);
  std::vector<asio::ip::tcp::endpoint> endpoints;
  for (const std::string& address : TRY(addresses_of(peer.host, time))) {
    error_code ignored;
    const auto parsed = asio::ip::make_address(address, ignored);
    if (!ignored) endpoints.emplace_back(parsed, peer.port);
  }
  TRY(prepare_tls(peer));
  auto& tcp = beast::get_lowest_layer(stream_);
  // A part of the time for each, so that one that is silent does not take that of the others.
  error_code failed = asio::error::host_not_found;
  for (size_t i = 0; failed && i < endpoints.size(); ++i) {
    tcp.close();
    failed = run(time / static_cast<int>(endpoints.size()),
                 [&](auto done) { tcp.async_connect(endpoints[i], done); });
  }
  if (failed) return failure(failed, "connect to");
  broken_ = false;
  watch_other_end(tcp.socket().native_handle());
  failed = run(time, [&](auto done) { stream_.async_handshake(asio::ssl::stream_base::client, done); });
  if (failed) return tls_failure(failed);
  return {};
}

Result<HttpHead> Connection::Stream::request(const HttpRequest& request, milliseconds time) {
  http::request<http::string_body> message;
  message.method_string(request.method);
  message.target(request.target);
  message.version(11);
  message.set(http::field::host, title_);
  message.set(http::field::user_agent, "vfrail-kube/" VFRAIL_VERSION);
  message.set(http::field::accept, "application/json");
  if (!request.token.empty()) message.set(http::field::authorization, "Bearer " + request.token);
  if (!request.content_type.empty()) message.set(http::field::content_type, request.content_type);
  message.body() = request.body;
  message.prepare_payload();
  has_answer_ = false;
  parser_.emplace();
  parser_->header_limit(kMaxHeadBytes);
  parser_->body_limit(std::numeric_limits<uint64_t>::max());  // the reader of the body has the limit
  error_code failed = run(time, [&](auto done) {
    http::async_write(stream_, message, [done](error_code result, size_t) { done(result); });
  });
  if (failed) return failure(failed, "send a request to");
  failed = run(time, [&](auto done) {
    http::async_read_header(stream_, buffer_, *parser_, [done](error_code result, size_t) { done(result); });
  });
  has_answer_ = parser_->got_some() || buffer_.size() > 0;
  if (failed) return failure(failed, "read the answer of");
  HttpHead out;
  out.status = parser_->get().result_int();
  out.content_type = std::string(parser_->get()[http::field::content_type]);
  const auto after = parse_decimal(std::string(parser_->get()[http::field::retry_after]));
  if (after) out.retry_after = std::chrono::seconds(*after);
  return out;
}

Result<size_t> Connection::Stream::read(std::span<char> buffer, milliseconds time) {
  while (!parser_->is_done()) {
    auto& body = parser_->get().body();
    body.data = buffer.data();
    body.size = buffer.size();
    body.more = true;
    error_code failed = run(time, [&](auto done) {
      http::async_read_some(stream_, buffer_, *parser_, [done](error_code result, size_t) { done(result); });
    });
    const size_t taken = buffer.size() - body.size;
    if (failed == http::error::need_buffer) {
      broken_ = false;
      failed = {};
    }
    if (failed && taken == 0) return failure(failed, "read the answer of");
    if (taken > 0) return taken;
  }
  return size_t{0};
}

Connection::Connection(std::unique_ptr<Stream> stream) : stream_(std::move(stream)) {}
Connection::~Connection() = default;

Result<std::unique_ptr<Connection>> Connection::open(const Peer& peer, const TlsMaterial& tls,
                                                     milliseconds time, std::stop_token stop) {
  auto stream = std::make_unique<Stream>(TRY(make_context(tls)), std::move(stop));
  TRY(stream->connect(peer, time));
  return std::unique_ptr<Connection>(new Connection(std::move(stream)));
}

Result<HttpHead> Connection::request(const HttpRequest& request, milliseconds time) {
  return stream_->request(request, time);
}
Result<size_t> Connection::read(std::span<char> buffer, milliseconds time) {
  return stream_->read(buffer, time);
}
bool Connection::is_reusable() const { return stream_->is_reusable(); }
bool Connection::has_answer() const { return stream_->has_answer(); }

}  // namespace vfrail::kube

#include "plugin/kube/client/connection.h"

#include "common/text.h"
#include "plugin/kube/client/tls_stream.h"

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <limits>

namespace vfrail::kube {

namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::system::error_code;
using std::chrono::milliseconds;

namespace {

constexpr uint32_t kMaxHeadBytes = 64 * 1024;

}  // namespace

class Connection::Stream {
 public:
  explicit Stream(std::unique_ptr<TlsStream> tls) : tls_(std::move(tls)) {}

  Result<HttpHead> request(const HttpRequest& request, milliseconds time);
  Result<size_t> read(std::span<char> buffer, milliseconds time);
  bool is_reusable() const {
    if (broken_) return false;
    return !parser_ || (parser_->is_done() && parser_->get().keep_alive() && !tls_->has_input());
  }
  bool has_answer() const { return has_answer_; }

 private:
  template <class Start>
  error_code run(milliseconds time, Start start) {
    const error_code result = tls_->run(time, start);
    if (result) broken_ = true;
    return result;
  }

  std::unique_ptr<TlsStream> tls_;
  beast::flat_buffer buffer_{kMaxHeadBytes};
  std::optional<http::response_parser<http::buffer_body>> parser_;
  bool broken_ = false;
  bool has_answer_ = false;
};

Result<HttpHead> Connection::Stream::request(const HttpRequest& request, milliseconds time) {
  http::request<http::string_body> message;
  message.method_string(request.method);
  message.target(request.target);
  message.version(11);
  message.set(http::field::host, tls_->title());
  message.set(http::field::user_agent, "vfrail-kube/" VFRAIL_VERSION);
  message.set(http::field::accept, "application/json");
  if (!request.token.empty()) message.set(http::field::authorization, "Bearer " + request.token);
  if (!request.content_type.empty()) message.set(http::field::content_type, request.content_type);
  message.body() = request.body;
  message.prepare_payload();
  has_answer_ = false;
  // A long answer has made it large, and a watch, which may be next, waits for minutes.
  if (buffer_.size() == 0) buffer_.shrink_to_fit();
  parser_.emplace();
  parser_->header_limit(kMaxHeadBytes);
  parser_->body_limit(std::numeric_limits<uint64_t>::max());  // the reader of the body has the limit
  error_code failed = run(time, [&](auto done) {
    http::async_write(tls_->layers(), message, [done](error_code result, size_t) { done(result); });
  });
  if (failed) return tls_->failure(failed, "send a request to");
  failed = run(time, [&](auto done) {
    http::async_read_header(tls_->layers(), buffer_, *parser_,
                            [done](error_code result, size_t) { done(result); });
  });
  has_answer_ = parser_->got_some() || buffer_.size() > 0;
  if (failed) return tls_->failure(failed, "read the answer of");
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
      http::async_read_some(tls_->layers(), buffer_, *parser_,
                            [done](error_code result, size_t) { done(result); });
    });
    const size_t taken = buffer.size() - body.size;
    if (failed == http::error::need_buffer) {
      broken_ = false;
      failed = {};
    }
    if (failed && taken == 0) return tls_->failure(failed, "read the answer of");
    if (taken > 0) return taken;
  }
  return size_t{0};
}

Connection::Connection(std::unique_ptr<Stream> stream) : stream_(std::move(stream)) {}
Connection::~Connection() = default;

Result<std::unique_ptr<Connection>> Connection::open(const Peer& peer, const TlsMaterial& tls,
                                                     milliseconds time, std::stop_token stop) {
  auto stream = std::make_unique<Stream>(TRY(TlsStream::connect(peer, tls, time, std::move(stop))));
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

// HttpConnection: one client of an HttpServer, from its request to the answer. Bounded in what it reads and
// in time. Decides nothing about the answer. Belongs to the thread of its socket's executor.
#pragma once

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/span_body.hpp>
#include <boost/beast/http/write.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace vfrail::plugin {

struct HttpReply {
  unsigned status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
};
// Several clients can wait for the same text.
using SharedReply = std::shared_ptr<const HttpReply>;

class HttpConnection {
 public:
  using Protocol = boost::asio::generic::stream_protocol;
  enum class Phase : uint8_t { reading, waiting, writing };

  explicit HttpConnection(Protocol::socket socket) : stream_(std::move(socket)) {
    parser_.header_limit(kMaxHeaderBytes);
    parser_.body_limit(0);
  }

  // `next` gets whether there is a request. One with a body is invalid: no page needs one.
  template <class Next>
  void read(Next next) {
    stream_.expires_after(kRequestTime);
    boost::beast::http::async_read_header(
        stream_, buffer_, parser_, [this, next = std::move(next)](boost::system::error_code failed, size_t) {
          phase_ = Phase::waiting;
          next(!failed);
        });
  }
  // `next` is called when the answer is sent or cannot be.
  template <class Next>
  void write(SharedReply reply, Next next) {
    namespace http = boost::beast::http;
    phase_ = Phase::writing;
    reply_ = std::move(reply);
    response_.result(reply_->status);
    response_.set(http::field::content_type, reply_->content_type);
    response_.set(http::field::cache_control, "no-store");
    response_.keep_alive(false);
    if (reply_->status == 405) response_.set(http::field::allow, "GET, HEAD");
    response_.content_length(reply_->body.size());
    if (method() != http::verb::head) response_.body() = {reply_->body.data(), reply_->body.size()};
    serializer_.emplace(response_);
    stream_.expires_after(kAnswerTime);
    http::async_write(stream_, *serializer_,
                      [next = std::move(next)](boost::system::error_code, size_t) { next(); });
  }
  // Ends the connection at once: pending operations fail, and their callback is called later.
  void close() { stream_.close(); }

  Phase phase() const { return phase_; }
  boost::beast::http::verb method() const { return parser_.get().method(); }
  // The path of the request, without the query after a question mark.
  std::string path() const {
    const auto target = parser_.get().target();
    return std::string(target.substr(0, target.find('?')));
  }

 private:
  static constexpr uint32_t kMaxHeaderBytes = 8 * 1024;
  // The time for the whole request, and for the whole answer: a client that sends a byte now and then does
  // not extend it.
  static constexpr std::chrono::seconds kRequestTime{5};
  static constexpr std::chrono::seconds kAnswerTime{20};

  boost::beast::basic_stream<Protocol> stream_;
  boost::beast::flat_buffer buffer_{kMaxHeaderBytes};
  boost::beast::http::request_parser<boost::beast::http::empty_body> parser_;
  boost::beast::http::response<boost::beast::http::span_body<const char>> response_;
  std::optional<boost::beast::http::response_serializer<boost::beast::http::span_body<const char>>>
      serializer_;
  SharedReply reply_;
  Phase phase_ = Phase::reading;
};

}  // namespace vfrail::plugin

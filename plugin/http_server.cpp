#include "plugin/http_server.h"

#include "plugin/http_listener.h"

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/span_body.hpp>
#include <boost/beast/http/write.hpp>
#include <cerrno>
#include <chrono>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace vfrail {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;

using Failure = boost::system::error_code;
using Protocol = asio::generic::stream_protocol;

namespace {

// A scraper has one connection, kubelet one for each probe. More wait in the kernel's queue.
constexpr size_t kMaxConnections = 16;
constexpr uint32_t kMaxHeaderBytes = 8 * 1024;
// For the whole request, and for the whole answer: a client that sends a byte now and then gains nothing.
constexpr std::chrono::seconds kRequestTime{5};
constexpr std::chrono::seconds kAnswerTime{20};
constexpr std::chrono::seconds kPause{1};  // before the next try when no connection could be accepted

// Two clients can wait for the same text.
using SharedReply = std::shared_ptr<const HttpReply>;

class Connection {
 public:
  explicit Connection(Protocol::socket socket) : stream_(std::move(socket)) {
    parser_.header_limit(kMaxHeaderBytes);
    parser_.body_limit(0);
  }

  // `next` hears whether there is a request. One with a body is none: nothing that is answered has one.
  template <class Next>
  void read(Next next) {
    stream_.expires_after(kRequestTime);
    http::async_read_header(stream_, buffer_, parser_,
                            [next = std::move(next)](Failure failed, size_t) { next(!failed); });
  }
  template <class Next>
  void write(SharedReply reply, Next next) {
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
    http::async_write(stream_, *serializer_, [next = std::move(next)](Failure, size_t) { next(); });
  }

  http::verb method() const { return parser_.get().method(); }
  // Without what stands behind a question mark.
  std::string path() const {
    const auto target = parser_.get().target();
    return std::string(target.substr(0, target.find('?')));
  }

 private:
  beast::basic_stream<Protocol> stream_;
  beast::flat_buffer buffer_{kMaxHeaderBytes};
  http::request_parser<http::empty_body> parser_;
  http::response<http::span_body<const char>> response_;
  std::optional<http::response_serializer<http::span_body<const char>>> serializer_;
  SharedReply reply_;
};

}  // namespace

class HttpServer::Server {
 public:
  Server(HttpListener listener, Pages pages)
      : listener_(std::move(listener)),
        pages_(std::move(pages)),
        acceptor_(io_, Protocol(listener_.family(), 0), listener_.take_fd()) {
    accept();
    thread_ = std::thread([this] { io_.run(); });
  }
  ~Server() {
    io_.stop();
    thread_.join();
    ending_ = true;
    slow_.join();
  }
  const ListenAddress& address() const { return listener_.address(); }

 private:
  using Client = std::shared_ptr<Connection>;
  struct Slow {
    std::vector<Client> waiting;
    bool running = false;
  };

  void accept() {
    if (connections_ == kMaxConnections || accepting_) return;
    accepting_ = true;
    acceptor_.async_accept([this](Failure failed, Protocol::socket socket) {
      accepting_ = false;
      if (failed == asio::error::operation_aborted) return;
      if (failed) return accept_later();  // no file descriptors, say
      serve(std::move(socket));
      accept();
    });
  }

  void accept_later() {
    pause_.expires_after(kPause);
    pause_.async_wait([this](Failure failed) {
      if (!failed) accept();
    });
  }

  void serve(Protocol::socket socket) {
    // Its destructor is the end of the connection, whoever held it last.
    ++connections_;
    const Client client(new Connection(std::move(socket)), [this](const Connection* gone) {
      delete gone;
      --connections_;
      if (!ending_) accept();
    });
    client->read([this, client](bool whole) {
      if (whole) dispatch(client);
    });
  }

  void dispatch(const Client& client) {
    if (client->method() != http::verb::get && client->method() != http::verb::head) {
      return reply(client, {.status = 405, .body = "only GET and HEAD are answered\n"});
    }
    const auto page = pages_.find(client->path());
    if (page == pages_.end()) {
      std::string there = "there are";
      for (const auto& [path, known] : pages_) there += " " + path;
      return reply(client, {.status = 404, .body = there + "\n"});
    }
    if (!page->second.slow) return reply(client, page->second.answer());
    slow_pages_[page->first].waiting.push_back(client);
    run_slow(page->first);
  }

  void run_slow(const std::string& path) {
    Slow& slow = slow_pages_[path];
    if (slow.running || slow.waiting.empty()) return;
    slow.running = true;
    asio::post(slow_, [this, path, clients = std::exchange(slow.waiting, {})]() mutable {
      auto answer = std::make_shared<const HttpReply>(pages_.at(path).answer());
      // Moved, so that connections end on the one thread that knows them.
      asio::post(io_, [this, path, clients = std::move(clients), answer] {
        for (const Client& client : clients) write(client, answer);
        slow_pages_[path].running = false;
        run_slow(path);
      });
    });
  }

  void reply(const Client& client, HttpReply reply) {
    write(client, std::make_shared<const HttpReply>(std::move(reply)));
  }
  void write(const Client& client, SharedReply reply) {
    client->write(std::move(reply), [client] {});
  }

  // Before io_, which still ends connections when it is destroyed.
  size_t connections_ = 0;
  bool accepting_ = false;
  bool ending_ = false;
  HttpListener listener_;
  const Pages pages_;
  asio::io_context io_{1};
  asio::thread_pool slow_{1};
  asio::basic_socket_acceptor<Protocol> acceptor_;
  asio::steady_timer pause_{io_};
  std::map<std::string, Slow> slow_pages_;
  std::thread thread_;
};

Result<std::unique_ptr<HttpServer>> HttpServer::start(const ListenAddress& address, Pages pages) {
  auto listener = TRY(HttpListener::open(address), "");
  return std::unique_ptr<HttpServer>(
      new HttpServer(std::make_unique<Server>(std::move(listener), std::move(pages))));
}

HttpServer::HttpServer(std::unique_ptr<Server> server) : server_(std::move(server)) {}
HttpServer::~HttpServer() = default;
const ListenAddress& HttpServer::address() const { return server_->address(); }

}  // namespace vfrail

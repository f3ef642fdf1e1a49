#include "plugin/service/monitoring/http_server.h"

#include "plugin/service/monitoring/accept_loop.h"
#include "plugin/service/monitoring/http_listener.h"

#include <algorithm>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cerrno>
#include <deque>
#include <exception>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace vfrail::plugin {

namespace asio = boost::asio;
namespace http = boost::beast::http;

using Protocol = HttpConnection::Protocol;
using Phase = HttpConnection::Phase;

namespace {

// A scraper has one connection, kubelet one for each probe.
constexpr size_t kMaxConnections = 64;
// Of these, such as wait for a slow page. Beyond it the answer is 503, so that there is room for the others.
constexpr size_t kMaxWaiting = 16;
// Answers of slow pages that are being sent at a time. The text of a scrape can have some MiB.
constexpr size_t kMaxSlowAnswers = 4;

HttpReply answer(const HttpServer::Answer& page) {
  try {
    return page();
  } catch (const std::exception& failure) {  // bad_alloc, say: one answer less, not one plugin less
    return {.status = 500, .body = std::string("cannot answer: ") + failure.what() + "\n"};
  }
}

}  // namespace

class HttpServer::Server {
 public:
  Server(HttpListener listener, Pages pages)
      : listener_(std::move(listener)),
        pages_(std::move(pages)),
        acceptor_(io_, Protocol(listener_.family(), 0), listener_.take_fd()) {
    loop_.accept();
    thread_ = std::thread([this] { run(); });
  }
  ~Server() {
    io_.stop();
    thread_.join();
    slow_.join();
  }
  const ListenAddress& address() const { return listener_.address(); }

 private:
  using Client = std::shared_ptr<HttpConnection>;
  struct Slow {
    std::vector<Client> waiting;
    bool running = false;
  };

  // A handler that throws (bad_alloc) ends its connection and not the thread.
  void run() {
    while (!io_.stopped()) {
      try {
        if (!loop_.is_under_way()) loop_.accept_later();
        io_.run();
      } catch (const std::exception&) {
      }
    }
  }

  // Those that wait for an answer are few (kMaxWaiting), so there is one of another kind.
  void make_room() {
    if (clients_.size() < kMaxConnections) return;
    for (const Phase phase : {Phase::reading, Phase::writing}) {
      const auto oldest = std::find_if(clients_.begin(), clients_.end(),
                                       [phase](const HttpConnection* one) { return one->phase() == phase; });
      if (oldest == clients_.end()) continue;
      (*oldest)->close();
      clients_.erase(oldest);
      return;
    }
  }

  void serve(Protocol::socket socket) {
    // Its destructor is the end of the connection, whoever held it last.
    const Client client(new HttpConnection(std::move(socket)), [this](const HttpConnection* gone) {
      std::erase(clients_, gone);
      delete gone;
    });
    clients_.push_back(client.get());
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
    if (!page->second.slow) return reply(client, answer(page->second.answer));
    if (waiting_ == kMaxWaiting)
      return reply(client, {.status = 503, .body = "too many clients wait for this page\n"});
    ++waiting_;
    slow_pages_[page->first].waiting.push_back(client);
    run_slow(page->first);
  }

  void run_slow(const std::string& path) {
    Slow& slow = slow_pages_[path];
    if (slow.running || slow.waiting.empty()) return;
    slow.running = true;
    asio::post(slow_, [this, path, clients = std::exchange(slow.waiting, {})]() mutable {
      auto made = std::make_shared<const HttpReply>(answer(pages_.at(path).answer));
      // Moved, so that connections end on the one thread that knows them.
      asio::post(io_, [this, path, clients = std::move(clients), made] {
        waiting_ -= clients.size();
        send(clients, made);
        slow_pages_[path].running = false;
        run_slow(path);
      });
    });
  }

  // A client that has not read its answer after three more are ready is closed, to free the memory of the
  // answer.
  void send(const std::vector<Client>& clients, const SharedReply& made) {
    if (sending_.size() == kMaxSlowAnswers) {
      for (const auto& one : sending_.front()) {
        if (const Client late = one.lock()) late->close();
      }
      sending_.pop_front();
    }
    sending_.emplace_back(clients.begin(), clients.end());
    for (const Client& client : clients) write(client, made);
  }

  void reply(const Client& client, HttpReply reply) {
    write(client, std::make_shared<const HttpReply>(std::move(reply)));
  }
  void write(const Client& client, SharedReply reply) {
    client->write(std::move(reply), [client] {});
  }

  // Before io_, which still ends connections when it is destroyed.
  std::vector<HttpConnection*> clients_;  // open, the oldest first
  HttpListener listener_;
  const Pages pages_;
  asio::io_context io_{1};
  // A client that waits for a slow page is not work for io_, and when all do nobody is accepted.
  asio::executor_work_guard<asio::io_context::executor_type> work_ = asio::make_work_guard(io_);
  asio::thread_pool slow_{1};
  using Acceptor = asio::basic_socket_acceptor<Protocol>;
  Acceptor acceptor_;
  asio::steady_timer pause_{io_};
  AcceptLoop<Acceptor, asio::steady_timer, Protocol::socket> loop_{acceptor_, pause_,
                                                                   [this](Protocol::socket socket) {
                                                                     make_room();
                                                                     serve(std::move(socket));
                                                                   }};
  std::map<std::string, Slow> slow_pages_;
  size_t waiting_ = 0;
  std::deque<std::vector<std::weak_ptr<HttpConnection>>> sending_;  // of slow pages, by answer
  std::thread thread_;
};

Result<std::unique_ptr<HttpServer>> HttpServer::start(const ListenAddress& address, Pages pages) {
  auto listener = TRY(HttpListener::open(address));
  return std::unique_ptr<HttpServer>(
      new HttpServer(std::make_unique<Server>(std::move(listener), std::move(pages))));
}

HttpServer::HttpServer(std::unique_ptr<Server> server) : server_(std::move(server)) {}
HttpServer::~HttpServer() = default;
const ListenAddress& HttpServer::address() const { return server_->address(); }

}  // namespace vfrail::plugin

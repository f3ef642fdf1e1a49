#include "tests/kube/api_server.h"

#include "common/json.h"
#include "tests/kube/certificates.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <condition_variable>
#include <list>
#include <mutex>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <poll.h>
#include <sys/socket.h>
#include <thread>

namespace vfrail::kube {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using TlsStream = asio::ssl::stream<tcp::socket>;

namespace {

// Sec-WebSocket-Accept (RFC 6455, section 4.2.2).
std::string accept_text(const std::string& key) {
  const std::string text = key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  unsigned char digest[SHA_DIGEST_LENGTH];
  SHA1(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest);
  unsigned char out[64] = {};
  const int size = EVP_EncodeBlock(out, digest, sizeof digest);
  return std::string(reinterpret_cast<const char*>(out), static_cast<size_t>(size));
}

// An unmasked binary frame, as servers send it.
std::string frame(char channel, const std::string& content) {
  const size_t size = content.size() + 1;
  std::string out = "\x82";
  if (size < 126) {
    out += static_cast<char>(size);
  } else {
    const bool wide = size > 0xffff;
    out += static_cast<char>(wide ? 127 : 126);
    for (int shift = wide ? 56 : 8; shift >= 0; shift -= 8) out += static_cast<char>(size >> shift & 0xff);
  }
  return out + channel + content;
}

class Answer final : public ServedAnswer {
 public:
  Answer(TlsStream& stream, const std::atomic<bool>& ended) : stream_(stream), ended_(ended) {}
  void set_websocket_key(std::string key) { websocket_key_ = std::move(key); }
  bool is_cut() const { return cut_; }

  void reply(unsigned status, const std::string& body, const std::vector<std::string>& headers) override {
    std::string text = head(status) + "Content-Length: " + std::to_string(body.size()) + "\r\n";
    for (const std::string& line : headers) text += line + "\r\n";
    raw(text + "\r\n" + body);
  }
  void begin(unsigned status) override { raw(head(status) + "Transfer-Encoding: chunked\r\n\r\n"); }
  void chunk(const std::string& text) override {
    char size[32] = {};
    std::snprintf(size, sizeof size, "%zx\r\n", text.size());
    raw(size + text + "\r\n");
  }
  void end() override { raw("0\r\n\r\n"); }
  void raw(const std::string& bytes) override {
    error_code ignored;
    asio::write(stream_, asio::buffer(bytes), ignored);
  }
  void cut() override {
    cut_ = true;
    error_code ignored;
    stream_.next_layer().shutdown(tcp::socket::shutdown_both, ignored);
  }
  void run_program(const std::string& output, int exit_code) override {
    raw("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: "
        "Upgrade\r\nSec-WebSocket-Accept: " +
        accept_text(websocket_key_) + "\r\nSec-WebSocket-Protocol: v4.channel.k8s.io\r\n\r\n");
    raw(frame(1, output));
    raw(frame(
        3,
        exit_code == 0
            ? R"({"status":"Success"})"
            : R"({"status":"Failure","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":")" +
                  std::to_string(exit_code) + R"("}]}})"));
    raw(std::string("\x88\x02\x03\xe8", 4));  // close, 1000
    cut_ = true;
  }
  void be_silent() override {
    const int fd = stream_.next_layer().native_handle();
    while (!ended_) {
      pollfd wait{fd, POLLRDHUP, 0};
      if (::poll(&wait, 1, 20) > 0) break;
    }
    cut_ = true;
  }

 private:
  static std::string head(unsigned status) {
    return "HTTP/1.1 " + std::to_string(status) + " Said\r\nContent-Type: application/json\r\n";
  }

  TlsStream& stream_;
  const std::atomic<bool>& ended_;
  std::string websocket_key_;
  bool cut_ = false;
};

}  // namespace

class ApiServer::Server {
 public:
  Server(Serve serve, std::vector<std::string> names)
      : serve_(std::move(serve)), names_(std::move(names)), authority_(make_authority("tests")) {
    make_context();
    start();
  }
  ~Server() {
    stop();
    ended_ = true;
    end_connections();
    for (std::thread& one : clients_) one.join();
  }
  uint16_t port() const { return port_; }
  std::string authority() const { return authority_.certificate; }
  size_t connections() const { return accepted_; }

  void start() {
    stopping_ = false;
    for (const char* address : {"127.0.0.1", "::1"}) {
      tcp::acceptor one(io_);
      error_code failed;
      const tcp::endpoint at(asio::ip::make_address(address), port_);
      one.open(at.protocol());
      one.set_option(tcp::acceptor::reuse_address(true));
      one.bind(at, failed);
      if (!failed) one.listen(tcp::acceptor::max_listen_connections, failed);
      if (failed && at.address().is_v4()) throw std::runtime_error("tests/kube: listen: " + failed.message());
      if (failed) continue;  // a machine without IPv6
      port_ = one.local_endpoint().port();
      acceptors_.push_back(std::move(one));
    }
    for (tcp::acceptor& one : acceptors_) listeners_.emplace_back([this, &one] { accept_all(one); });
  }
  void stop() {
    stopping_ = true;
    for (std::thread& one : listeners_) one.join();
    listeners_.clear();
    acceptors_.clear();
  }
  void rotate_authority() {
    authority_ = make_authority("tests, rotated");
    make_context();
    end_connections();
  }
  void end_connections() {
    const std::lock_guard lock(mutex_);
    for (const int fd : open_) ::shutdown(fd, SHUT_RDWR);
  }

 private:
  void make_context() {
    auto made = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_server);
    const KeyPair pair = make_certificate(authority_, "server", names_);
    made->use_certificate_chain(asio::buffer(pair.certificate));
    made->use_private_key(asio::buffer(pair.key), asio::ssl::context::pem);
    const std::lock_guard lock(mutex_);
    context_ = made;
  }

  void accept_all(tcp::acceptor& acceptor) {
    while (!stopping_) {
      pollfd wait{acceptor.native_handle(), POLLIN, 0};
      if (::poll(&wait, 1, 20) <= 0) continue;
      error_code failed;
      tcp::socket socket = acceptor.accept(failed);
      if (failed) continue;
      ++accepted_;
      const std::lock_guard lock(mutex_);
      open_.push_back(socket.native_handle());
      clients_.emplace_back(
          [this, one = std::make_shared<tcp::socket>(std::move(socket)), context = context_] {
            const int fd = one->native_handle();
            serve_client(std::move(*one), *context);
            const std::lock_guard forget(mutex_);
            open_.remove(fd);
          });
    }
  }

  void serve_client(tcp::socket socket, asio::ssl::context& context) {
    TlsStream stream(std::move(socket), context);
    error_code failed;
    stream.handshake(asio::ssl::stream_base::server, failed);
    boost::beast::flat_buffer buffer;
    Answer answer(stream, ended_);
    while (!failed && !answer.is_cut()) {
      http::request<http::string_body> request;
      http::read(stream, buffer, request, failed);
      if (failed) return;
      answer.set_websocket_key(std::string(request[http::field::sec_websocket_key]));
      serve_(
          {std::string(request.method_string()), std::string(request.target()),
           std::string(request[http::field::authorization]), std::string(request[http::field::content_type]),
           request.body(), std::string(request[http::field::sec_websocket_key])},
          answer);
    }
  }

  const Serve serve_;
  const std::vector<std::string> names_;
  KeyPair authority_;
  asio::io_context io_;
  std::shared_ptr<asio::ssl::context> context_;
  std::list<tcp::acceptor> acceptors_;
  std::list<std::thread> listeners_;
  uint16_t port_ = 0;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> ended_{false};
  std::atomic<size_t> accepted_{0};
  std::mutex mutex_;
  std::list<int> open_;
  std::list<std::thread> clients_;
};

ApiServer::ApiServer(Serve serve, std::vector<std::string> names)
    : server_(std::make_unique<Server>(std::move(serve), std::move(names))) {}
ApiServer::~ApiServer() = default;
uint16_t ApiServer::port() const { return server_->port(); }
std::string ApiServer::authority() const { return server_->authority(); }
void ApiServer::rotate_authority() { server_->rotate_authority(); }
void ApiServer::end_connections() { server_->end_connections(); }
void ApiServer::stop() { server_->stop(); }
void ApiServer::start() { server_->start(); }
size_t ApiServer::connections() const { return server_->connections(); }

ClusterAccess ApiServer::access(const std::string& token) const {
  ClusterAccess out;
  out.host = "127.0.0.1";
  out.port = port();
  out.verified_name = "127.0.0.1";
  out.authority.text = authority();
  out.token.text = token;
  out.name_space = "default";
  out.source = "a test";
  return out;
}

std::string status_text(unsigned code, const std::string& reason, const std::string& message) {
  Json out = Json::object();
  out.set("kind", "Status");
  out.set("apiVersion", "v1");
  out.set("status", "Failure");
  out.set("message", message);
  out.set("reason", reason);
  out.set("code", static_cast<int>(code));
  return out.text();
}

}  // namespace vfrail::kube

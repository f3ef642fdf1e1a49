#include "plugin/dra/agent_client.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

namespace vfrail::plugin {

namespace {

namespace beast = boost::beast;
namespace http = beast::http;
using Protocol = boost::asio::local::stream_protocol;

constexpr std::chrono::seconds kPatience{10};
// A claim has 32 results, and parameters of 10 KiB each at most.
constexpr size_t kMaxAnswer = 4 << 20;

// One request, from connect to the whole answer, within one deadline.
class Exchange {
 public:
  Exchange(const std::string& method, const std::string& target, const std::string& body) : stream_(io_) {
    request_.method_string(method);
    request_.target(target);
    request_.version(11);
    request_.set(http::field::host, "localhost");
    request_.set(http::field::content_type, "application/json");
    request_.keep_alive(false);
    request_.body() = body;
    request_.prepare_payload();
    parser_.body_limit(kMaxAnswer);
  }

  boost::system::error_code run(const std::string& socket) {
    stream_.expires_after(kPatience);
    stream_.async_connect(Protocol::endpoint(socket),
                          [this](auto failed) { failed ? end(failed) : write(); });
    io_.run();
    return failed_;
  }
  unsigned status() const { return parser_.get().result_int(); }
  std::string& body() { return parser_.get().body(); }

 private:
  void end(boost::system::error_code failed) { failed_ = failed; }
  void write() {
    http::async_write(stream_, request_, [this](auto failed, size_t) { failed ? end(failed) : read(); });
  }
  void read() {
    http::async_read(stream_, buffer_, parser_, [this](auto failed, size_t) { end(failed); });
  }

  boost::asio::io_context io_;
  beast::basic_stream<Protocol> stream_;
  beast::flat_buffer buffer_;
  http::request<http::string_body> request_;
  http::response_parser<http::string_body> parser_;
  boost::system::error_code failed_;
};

std::string path_of(const ClaimName& name, const char* below) {
  // Names and uids of Kubernetes have no letters that a URL would have escaped.
  return "/claims/" + name.name_space + "/" + name.name + below + "?uid=" + name.uid;
}

bool is_plain(const std::string& text) {
  return !text.empty() && text.find_first_not_of(
                              "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                              "0123456789-._") == std::string::npos;
}

Result<> check(const ClaimName& name) {
  if (is_plain(name.name_space) && is_plain(name.name) && is_plain(name.uid)) return {};
  return Error{Errc::invalid, 0,
               "claim " + name.text() + ", uid \"" + name.uid + "\": not a name of Kubernetes"};
}

}  // namespace

Result<AgentClient::Answer> AgentClient::ask(const std::string& method, const std::string& target,
                                             const std::string& body) {
  if (socket_.size() >= sizeof(sockaddr_un::sun_path))
    return Error{Errc::invalid, 0, socket_ + ": too long for the path of a socket"};
  Exchange exchange(method, target, body);
  const auto failed = exchange.run(socket_);
  if (failed == beast::error::timeout)
    return Error{Errc::timeout, 0, "vfrail-kube does not answer at " + socket_};
  if (failed)
    return Error{Errc::not_yet, 0,
                 "vfrail-kube is not reached at " + socket_ + ": " + failed.message() +
                     "; see the container \"kube\" of this pod"};
  return Answer{exchange.status(), std::move(exchange.body())};
}

Error AgentClient::refusal(const std::string& what, const Answer& answer) const {
  std::string reason = "status " + std::to_string(answer.status);
  if (const auto body = Json::parse(answer.body)) {
    const Json* text = body->find("reason");
    if (text != nullptr && text->as_text() != nullptr) reason = *text->as_text();
  }
  if (answer.status == 404) return Error{Errc::not_found, 0, what + ": " + reason};
  return Error{answer.status == 503 ? Errc::busy : Errc::peer, 0, what + ": " + reason};
}

Result<std::optional<Json>> AgentClient::claim(const ClaimName& name) {
  TRY(check(name));
  const Answer answer = TRY(ask("GET", path_of(name, ""), ""));
  if (answer.status == 404) return std::optional<Json>();
  if (answer.status != 200) return refusal("read claim " + name.text(), answer);
  return std::optional(TRY(Json::parse_object(answer.body, kMaxAnswer), "read claim " + name.text()));
}

Result<> AgentClient::set_status(const ClaimName& name, const Json& devices) {
  TRY(check(name));
  Json body;
  body.set("devices", devices);
  const Answer answer = TRY(ask("PUT", path_of(name, "/status"), body.text()));
  if (answer.status == 200) return {};
  return refusal("write the status of claim " + name.text(), answer);
}

Result<Json> AgentClient::put_devices(const std::string& body) {
  const Answer answer = TRY(ask("PUT", "/devices", body));
  if (answer.status != 200) return refusal("offer devices", answer);
  return Json::parse_object(answer.body, kMaxAnswer);
}

Result<> AgentClient::put_notices(const std::string& body) {
  const Answer answer = TRY(ask("PUT", "/notices", body));
  if (answer.status == 200) return {};
  return refusal("post Events", answer);
}

}  // namespace vfrail::plugin

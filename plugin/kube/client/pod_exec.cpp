#include "plugin/kube/client/pod_exec.h"

#include "plugin/kube/client/credentials.h"
#include "plugin/kube/client/refusal.h"
#include "plugin/kube/client/tls_stream.h"

#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/websocket/rfc6455.hpp>
#include <boost/beast/websocket/ssl.hpp>
#include <boost/beast/websocket/stream.hpp>

namespace vfrail::kube {

namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace websocket = boost::beast::websocket;
using boost::system::error_code;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

namespace {

constexpr const char* kProtocol = "v4.channel.k8s.io";
constexpr size_t kMaxOutput = 4 << 20;
constexpr size_t kMaxErrors = 64 * 1024;
// The first byte of a message.
constexpr char kStdout = 1;
constexpr char kStderr = 2;
constexpr char kEnd = 3;

std::string target_of(const ClusterAccess& access, const PodCommand& command) {
  std::string out = access.path + path_of(kPods, command.pod) + "/exec?stdout=true&stderr=true";
  if (!command.container.empty()) out += "&container=" + url_escape(command.container);
  for (const std::string& word : command.words) out += "&command=" + url_escape(word);
  return out;
}

milliseconds left_until(Clock::time_point deadline) {
  return std::max(std::chrono::duration_cast<milliseconds>(deadline - Clock::now()), milliseconds(1));
}

class Channel {
 public:
  explicit Channel(std::unique_ptr<TlsStream> tls) : tls_(std::move(tls)), socket_(tls_->layers()) {
    // Of the connection below: its deadline is that of each wait.
    socket_.set_option(websocket::stream_base::timeout{websocket::stream_base::none(),
                                                       websocket::stream_base::none(), false});
    socket_.read_message_max(kMaxOutput);
  }

  Result<> open(const std::string& target, const std::string& token, const std::string& title,
                milliseconds time) {
    socket_.set_option(websocket::stream_base::decorator([&token](websocket::request_type& request) {
      request.set(http::field::sec_websocket_protocol, kProtocol);
      request.set(http::field::user_agent, "vfrail-kube/" VFRAIL_VERSION);
      if (!token.empty()) request.set(http::field::authorization, "Bearer " + token);
    }));
    http::response<http::string_body> answer;
    const error_code failed =
        tls_->run(time, [&](auto done) { socket_.async_handshake(answer, tls_->title(), target, done); });
    if (failed == websocket::error::upgrade_declined)
      return refusal(title, answer.result_int(), answer.body());
    if (failed) return tls_->failure(failed, "send a request to").in(title);
    if (answer[http::field::sec_websocket_protocol] != kProtocol)
      return Error{Errc::unsupported, 0, title + ": the API server does not speak " + kProtocol};
    return {};
  }

  // The next message; no value: the server has ended the connection.
  Result<std::optional<std::string>> read(milliseconds time) {
    beast::flat_buffer buffer;
    const error_code failed = tls_->run(time, [&](auto done) {
      socket_.async_read(buffer, [done](error_code result, size_t) { done(result); });
    });
    if (failed == websocket::error::closed) return std::optional<std::string>();
    if (failed) return tls_->failure(failed, "read the answer of");
    return std::optional(beast::buffers_to_string(buffer.data()));
  }

 private:
  std::unique_ptr<TlsStream> tls_;
  websocket::stream<TlsStream::Layers&, false> socket_;  // false: without compression, which nobody asks for
};

// True: it was the end.
Result<bool> take_message(const std::string& message, PodOutput& out) {
  if (message.empty()) return false;
  const std::string_view content = std::string_view(message).substr(1);
  switch (message.front()) {
    case kStdout:
      if (out.output.size() + content.size() > kMaxOutput)
        return Error{Errc::protocol, 0, "more than 4 MiB of output"};
      out.output += content;
      return false;
    case kStderr:
      out.errors += content.substr(0, kMaxErrors - std::min(kMaxErrors, out.errors.size()));
      return false;
    case kEnd:
      out.exit_code = TRY(read_end_of_command(content));
      return true;
    default:
      return false;
  }
}

}  // namespace

Result<PodOutput> run_in_pod(const ClusterAccess& access, const PodCommand& command, std::stop_token stop) {
  const std::string title = "exec in pod " + command.pod.text();
  const auto deadline = Clock::now() + command.time;
  Credentials credentials(access);
  const TlsMaterial material = TRY(credentials.tls(Clock::now()));
  Channel channel(TRY(TlsStream::connect({access.host, access.port, access.verified_name}, material,
                                         left_until(deadline), std::move(stop)),
                      access.source));
  TRY(channel.open(target_of(access, command), TRY(credentials.token(Clock::now())), title,
                   left_until(deadline)));
  PodOutput out;
  for (;;) {
    const auto message = TRY(channel.read(left_until(deadline)), title);
    if (!message) return Error{Errc::protocol, 0, title + ": ended without an exit code"};
    if (TRY(take_message(*message, out), title)) return out;
  }
}

}  // namespace vfrail::kube

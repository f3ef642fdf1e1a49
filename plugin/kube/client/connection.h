// Connection: one TLS connection to the API server, over which one HTTP/1.1 request follows another. Every
// wait has a deadline and ends at a request to stop. Follows no redirect, which would take the token
// elsewhere. Knows nothing of Kubernetes. Belongs to one thread.
#pragma once

#include "common/result.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>

namespace vfrail::kube {

struct Peer {
  std::string host;  // a name or an address
  uint16_t port = 443;
  std::string verified_name;  // that its certificate must have
};

// PEM. An authority that is empty: what the system trusts.
struct TlsMaterial {
  std::string authority;
  std::string certificate;
  std::string key;
  bool operator==(const TlsMaterial&) const = default;
};

struct HttpRequest {
  std::string method = "GET";
  std::string target;  // path and query, escaped
  std::string token = {};
  std::string content_type = {};
  std::string body = {};
};

struct HttpHead {
  unsigned status = 0;
  std::string content_type;
  std::optional<std::chrono::seconds> retry_after;
};

class Connection {
 public:
  // TLS 1.2 or newer, with a certificate of the authority for that name. Errc::denied if it is another;
  // its text says what the certificate has. Errc::not_yet at a stop.
  static Result<std::unique_ptr<Connection>> open(const Peer& peer, const TlsMaterial& tls,
                                                  std::chrono::milliseconds time, std::stop_token stop);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  // Sends the request and reads the head of the answer.
  Result<HttpHead> request(const HttpRequest& request, std::chrono::milliseconds time);
  // A part of the body; 0: its end. Errc::protocol if the connection ends before it does.
  Result<size_t> read(std::span<char> buffer, std::chrono::milliseconds time);

  // Between two answers, of which the last allows another, and not ended by the server, as it does when
  // nobody has used it for a while. (It can still do so at any time.)
  bool is_reusable() const;
  // Whether a byte of the current answer has come. If not, a connection that was used before may have been
  // ended by the server while nobody used it.
  bool has_answer() const;

 private:
  class Stream;
  explicit Connection(std::unique_ptr<Stream> stream);
  std::unique_ptr<Stream> stream_;
};

}  // namespace vfrail::kube

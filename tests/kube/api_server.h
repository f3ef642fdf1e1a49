// ApiServer: a TLS server in this process that does to its clients what a test says: answers, in pieces or
// cut, is silent, shows another certificate. It listens on 127.0.0.1 and [::1]; a thread for each connection.
#pragma once

#include "plugin/kube/access/cluster_access.h"

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace vfrail::kube {

struct ServedRequest {
  std::string method;
  std::string target;
  std::string authorization;
  std::string content_type;
  std::string body;
  std::string websocket_key;  // of a request for a WebSocket; empty: another
};

// The way back to the client.
class ServedAnswer {
 public:
  virtual ~ServedAnswer() = default;
  // A whole answer; `headers` are lines such as "Retry-After: 1".
  virtual void reply(unsigned status, const std::string& body,
                     const std::vector<std::string>& headers = {}) = 0;
  // The head of an answer in chunks, then pieces of them; a piece is one chunk. end(): the last.
  virtual void begin(unsigned status) = 0;
  virtual void chunk(const std::string& text) = 0;
  virtual void end() = 0;
  // Bytes as they are.
  virtual void raw(const std::string& bytes) = 0;
  // Ends the connection in the middle.
  virtual void cut() = 0;
  // Answers a request for a WebSocket as kubelet does after a program has run: what it printed, and its end.
  virtual void run_program(const std::string& output, int exit_code) = 0;
  // Returns when the client or the test has ended.
  virtual void be_silent() = 0;
};

class ApiServer {
 public:
  using Serve = std::function<void(const ServedRequest&, ServedAnswer&)>;

  // The certificate is for these names and addresses. `keep_alive` false: each answer is the last of its
  // connection.
  explicit ApiServer(Serve serve, std::vector<std::string> names = {"127.0.0.1", "::1", "localhost"});
  ApiServer(const ApiServer&) = delete;
  ApiServer& operator=(const ApiServer&) = delete;
  ~ApiServer();

  uint16_t port() const;
  // PEM of the authority of its certificate.
  std::string authority() const;
  // A certificate of another authority for connections from now on; ends those there are.
  void rotate_authority();
  void end_connections();
  // Stops to listen, as a server that restarts; listens again at the same port.
  void stop();
  void start();
  size_t connections() const;

  // As a kubeconfig with a token has it.
  ClusterAccess access(const std::string& token = "secret-token") const;

 private:
  class Server;
  std::unique_ptr<Server> server_;
};

// {"kind":"Status",...} as the API server refuses.
std::string status_text(unsigned code, const std::string& reason, const std::string& message);

}  // namespace vfrail::kube

// SocketServer: HTTP/1.1 on a Unix socket for the vfrail of the same node: a request and its answer for each
// connection. Bounded in connections (16), in the size of a request (8 MiB) and in time (10 s). Knows no
// request's meaning.
#pragma once

#include "common/json.h"
#include "common/result.h"
#include "common/unique_fd.h"

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace vfrail::kube {

struct SocketRequest {
  std::string method;
  std::string target;  // "/claims/default/nic?uid=..."
  std::string body;
};

struct SocketReply {
  unsigned status = 200;
  Json body = Json::object();
};

// {"reason": ...}.
SocketReply refused(unsigned status, const std::string& reason);

class SocketServer {
 public:
  static constexpr size_t kMaxBody = 8 << 20;
  using Answer = std::function<SocketReply(const SocketRequest&)>;  // on several threads

  // Listens at `path`, with mode 0600. A stale socket is replaced; Errc::exists for one that is served, and
  // for any other kind of file. Serves until destroyed, which waits for answers that are under way.
  static Result<std::unique_ptr<SocketServer>> start(const std::string& path, Answer answer);
  SocketServer(const SocketServer&) = delete;
  SocketServer& operator=(const SocketServer&) = delete;
  ~SocketServer();

 private:
  struct Descriptors {
    UniqueFd listening;
    UniqueFd ended;  // an eventfd, written in the end
  };
  SocketServer(std::string path, Descriptors descriptors, Answer answer);
  void accept_all(const std::stop_token& stop);
  void serve(const UniqueFd& client);

  const std::string path_;
  const uint64_t inode_;  // of our socket
  const Descriptors fds_;
  const Answer answer_;
  std::vector<std::jthread> threads_;
};

}  // namespace vfrail::kube

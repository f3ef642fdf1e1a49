// HttpServer: answers GET for a few fixed pages over TCP or a unix socket. Bounded in what it reads, in
// connections and in time. Knows no page's content. One answer a connection, without TLS: for a scraper or a
// probe nearby.
//
// Over Boost.Beast and not cpp-httplib (Debian's 0.11.4), which has deadlines for single reads only, no limit
// of connections, and a thread for each of them.
#pragma once

#include "common/result.h"
#include "plugin/listen_address.h"

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace vfrail {

struct HttpReply {
  unsigned status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
};

class HttpServer {
 public:
  using Answer = std::function<HttpReply()>;
  struct Page {
    Answer answer;
    // Runs on a thread of its own, never twice at a time; who asks while it runs shares the next answer. The
    // others run between two reads and must be done at once.
    bool slow = false;
  };
  using Pages = std::map<std::string, Page>;  // "/metrics"

  // Listens, and serves until destroyed, which waits for a slow answer under way. Errc::exists if something
  // other than a dead socket is at the path.
  static Result<std::unique_ptr<HttpServer>> start(const ListenAddress& address, Pages pages);
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer();

  // With the port that the kernel chose.
  const ListenAddress& address() const;

 private:
  class Server;
  explicit HttpServer(std::unique_ptr<Server> server);
  std::unique_ptr<Server> server_;
};

}  // namespace vfrail

// HttpServer: answers GET for a few fixed pages over TCP or a unix socket. Bounded in what it reads, in
// connections (64), in clients that wait for a slow page (16), in memory and in time. Knows no page's
// content. One answer a connection, without TLS: for a local scraper or probe.
//
// Nobody can keep others out by connecting: when there is no room for another client, the oldest that has not
// sent its request yet is closed, or else the oldest that has not read its answer yet.
//
// Over Boost.Beast and not cpp-httplib (Debian's 0.11.4), which has deadlines for single reads only, no limit
// of connections, and a thread for each of them.
#pragma once

#include "common/result.h"
#include "plugin/observe/metrics/listen_address.h"
#include "plugin/service/monitoring/http_connection.h"

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace vfrail::plugin {

class HttpServer {
 public:
  using Answer = std::function<HttpReply()>;
  struct Page {
    Answer answer;
    // Runs on a thread of its own, one call at a time; requests during a call share the next answer. The
    // others run between two reads and must be fast. A page that throws is answered with 500.
    bool slow = false;
  };
  using Pages = std::map<std::string, Page>;  // "/metrics"

  // Listens, and serves until destroyed, which waits for a slow answer in progress. Errc::exists if something
  // other than a stale socket is at the path.
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

}  // namespace vfrail::plugin

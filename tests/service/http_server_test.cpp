#include "plugin/service/monitoring/http_server.h"

#include "common/unique_fd.h"
#include "tests/service/http_client.h"
#include "tests/service/support.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <new>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>

#include <catch2/catch.hpp>

namespace vfrail::test {
using namespace plugin;

namespace fs = std::filesystem;

namespace {

// A slow page that answers when the test says so.
class Gate {
 public:
  HttpReply pass() {
    std::unique_lock lock(mutex_);
    ++entered_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
    return {.status = 200, .content_type = "text/plain", .body = "answer " + std::to_string(entered_)};
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void wait_for_entry() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return entered_ > 0; });
  }
  int entered() {
    const std::lock_guard lock(mutex_);
    return entered_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int entered_ = 0;
  bool open_ = false;
};

HttpServer::Pages one_page() {
  return {{"/quick", {.answer = [] {
             HttpReply out;
             out.body = "quick\n";
             return out;
           }}}};
}

void allow_open_files(rlim_t count) {
  rlimit limit{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
  limit.rlim_cur = std::max(limit.rlim_cur, std::min(count, limit.rlim_max));
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

ListenAddress at(const std::string& text) { return *parse_listen_address(text); }

}  // namespace

TEST_CASE("pages are served over TCP and over a unix socket") {
  const TempDir folder;
  const std::string kind = GENERATE("localhost:0", "[::1]:0", "unix:");
  const std::string address = kind == "unix:" ? kind + folder.path("m.sock") : kind;
  INFO(address);
  const auto server = HttpServer::start(at(address), one_page());
  REQUIRE(server);
  const ListenAddress& where = (*server)->address();
  const auto answer = get(where, "/quick?x=1");
  CHECK(answer.status == 200);
  CHECK(answer.body == "quick\n");
  CHECK(answer.head.find("Content-Type: text/plain") != std::string::npos);
  CHECK(get(where, "/other").status == 404);
  CHECK(get(where, "/other").body.find("/quick") != std::string::npos);
  CHECK(send_raw(where, "POST /quick HTTP/1.1\r\n\r\n").status == 405);
  const auto head = send_raw(where, "HEAD /quick HTTP/1.1\r\n\r\n");
  CHECK(head.status == 200);
  CHECK(head.body.empty());
  CHECK(head.head.find("Content-Length: 6") != std::string::npos);
  CHECK(send_raw(where, "GET /quick HTTP/1.0\r\n\r\n").body == "quick\n");
}

TEST_CASE("an invalid or too long request ends its connection and nothing else") {
  const auto server = HttpServer::start(at("localhost:0"), one_page());
  REQUIRE(server);
  const ListenAddress& where = (*server)->address();
  for (const std::string& wrong :
       {std::string("junk\r\n\r\n"), std::string("\0\0\0\0\r\n\r\n", 8), std::string("GET\r\n\r\n"),
        "GET /quick HTTP/1.1\r\nX: " + std::string(20'000, 'x') + "\r\n\r\n",
        "GET /" + std::string(20'000, 'x') + " HTTP/1.1\r\n\r\n"}) {
    CHECK(send_raw(where, wrong).status == 0);
  }
  CHECK(get(where, "/quick").status == 200);
}

TEST_CASE("a unix socket is private, replaces a stale one and nothing else, and is removed with the server") {
  const TempDir folder;
  const std::string path = folder.path("m.sock");
  {
    const auto server = HttpServer::start(at("unix:" + path), one_page());
    REQUIRE(server);
    CHECK(mode_of(path) == 0600);
    const auto second = HttpServer::start(at("unix:" + path), one_page());
    REQUIRE_FALSE(second);
    CHECK(second.error().code == Errc::exists);
    CHECK(get((*server)->address(), "/quick").status == 200);
  }
  CHECK_FALSE(fs::exists(path));
  {
    // What a killed process leaves.
    sockaddr_un dead{};
    dead.sun_family = AF_UNIX;
    path.copy(dead.sun_path, sizeof dead.sun_path - 1);
    const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&dead), sizeof dead) == 0);
  }
  REQUIRE(fs::is_socket(path));
  {
    const auto server = HttpServer::start(at("unix:" + path), one_page());
    REQUIRE(server);
    CHECK(get((*server)->address(), "/quick").status == 200);
  }
  std::ofstream(path) << "precious";
  const auto refused = HttpServer::start(at("unix:" + path), one_page());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::exists);
  CHECK(read_text(path) == "precious");
}

TEST_CASE("a slow page delays no other, and runs once for all who wait", "[threads]") {
  Gate gate;
  auto pages = one_page();
  pages["/slow"] = {.answer = [&] { return gate.pass(); }, .slow = true};
  const auto server = HttpServer::start(at("localhost:0"), std::move(pages));
  REQUIRE(server);
  const ListenAddress& where = (*server)->address();
  std::atomic<int> answered{0};
  std::vector<std::thread> clients;
  clients.emplace_back([&] { answered += get(where, "/slow").body == "answer 1" ? 1 : 0; });
  gate.wait_for_entry();
  for (int i = 0; i < 5; ++i) {
    clients.emplace_back([&] { answered += get(where, "/slow").body.starts_with("answer ") ? 1 : 0; });
  }
  CHECK(get(where, "/quick").status == 200);
  CHECK(gate.entered() == 1);
  gate.open();
  for (std::thread& client : clients) client.join();
  CHECK(answered == 6);
  CHECK(gate.entered() <= 6);
}

TEST_CASE("clients that all wait for a slow page do not stop the server, and too many are refused",
          "[threads]") {
  Gate gate;
  auto pages = one_page();
  pages["/slow"] = {.answer = [&] { return gate.pass(); }, .slow = true};
  const auto server = HttpServer::start(at("localhost:0"), std::move(pages));
  REQUIRE(server);
  const ListenAddress& where = (*server)->address();
  constexpr int kClients = 40;
  std::atomic<int> answered{0};
  std::atomic<int> refused{0};
  std::vector<std::thread> clients;
  for (int i = 0; i < kClients; ++i) {
    clients.emplace_back([&] {
      const int status = get(where, "/slow").status;
      answered += status == 200 ? 1 : 0;
      refused += status == 503 ? 1 : 0;
    });
  }
  gate.wait_for_entry();
  // 16 wait, whoever they are; until the others have their answer there may be more to come.
  while (refused < kClients - 16) CHECK(get(where, "/quick").status == 200);
  CHECK(get(where, "/quick").status == 200);
  gate.open();
  for (std::thread& client : clients) client.join();
  CHECK(answered == 16);
  CHECK(refused == kClients - 16);
  CHECK(get(where, "/slow").status == 200);
}

TEST_CASE("a thousand clients that are idle, slow, half closed or do not read keep nobody out") {
  allow_open_files(4096);
  auto pages = one_page();
  // More than the sockets' buffers hold: who does not read it is stuck in the middle.
  pages["/slow"] = {.answer = [] { return HttpReply{.body = std::string(4U << 20, 'x')}; }, .slow = true};
  const std::string kind = GENERATE("localhost:0", "unix:");
  const TempDir folder;
  const auto server = HttpServer::start(at(kind == "unix:" ? kind + folder.path("m.sock") : kind), pages);
  REQUIRE(server);
  const ListenAddress& where = (*server)->address();
  const auto send_some = [](const UniqueFd& fd, const std::string& text) {
    (void)::send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL);
  };
  std::vector<UniqueFd> clients;
  for (int i = 0; i < 1000; ++i) {
    const UniqueFd& fd = clients.emplace_back(connect_to(where));
    REQUIRE(fd.valid());
    if (i % 4 == 1) send_some(fd, "GET /quick HTTP/1.1\r\nX: y");
    if (i % 4 == 2) ::shutdown(fd.get(), SHUT_WR);
    if (i % 4 == 3) send_some(fd, "GET /slow HTTP/1.1\r\n\r\n");
    if (i % 100 == 99) CHECK(get(where, "/quick").status == 200);
  }
  for (const UniqueFd& fd : clients) send_some(fd, "\r\nZ: z");
  CHECK(get(where, "/quick").status == 200);
  clients.clear();
  // Those of the clients that wait for it still count until their answer is there.
  HttpAnswer answer = get(where, "/slow");
  while (answer.status == 503) answer = get(where, "/slow");
  CHECK(answer.body.size() == 4U << 20);
}

TEST_CASE("a page that throws is answered with 500") {
  auto pages = one_page();
  const auto out_of_memory = []() -> HttpReply { throw std::bad_alloc(); };
  pages["/quick2"] = {.answer = out_of_memory};
  pages["/slow"] = {.answer = out_of_memory, .slow = true};
  const auto server = HttpServer::start(at("localhost:0"), std::move(pages));
  REQUIRE(server);
  CHECK(get((*server)->address(), "/quick2").status == 500);
  CHECK(get((*server)->address(), "/slow").status == 500);
  CHECK(get((*server)->address(), "/quick").status == 200);
}

TEST_CASE("the server stops with connections open and a slow answer pending") {
  Gate gate;
  gate.open();
  auto pages = one_page();
  pages["/slow"] = {.answer = [&] { return gate.pass(); }, .slow = true};
  auto server = HttpServer::start(at("localhost:0"), std::move(pages));
  REQUIRE(server);
  const ListenAddress where = (*server)->address();
  const UniqueFd idle(connect_to(where));
  const UniqueFd asking(connect_to(where));
  const std::string request = "GET /slow HTTP/1.1\r\n\r\n";
  REQUIRE(::send(asking.get(), request.data(), request.size(), 0) == static_cast<ssize_t>(request.size()));
  gate.wait_for_entry();
  server->reset();
  CHECK(connect_to(where) == -1);
}

}  // namespace vfrail::test

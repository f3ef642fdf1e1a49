// FakeAgent: `vfrail-kube node` at its socket, as far as the offer goes; answers what the test has set.
#pragma once

#include "common/unique_fd.h"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

#include <catch2/catch.hpp>

namespace vfrail::test {

// Answers each PUT /devices, one connection after another.
class FakeAgent {
 public:
  explicit FakeAgent(const std::string& socket) : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    socket.copy(address.sun_path, sizeof address.sun_path - 1);
    REQUIRE(::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    REQUIRE(::listen(fd_.get(), 8) == 0);
    thread_ = std::thread([this] { run(); });
  }
  FakeAgent(const FakeAgent&) = delete;
  FakeAgent& operator=(const FakeAgent&) = delete;
  ~FakeAgent() {
    ::shutdown(fd_.get(), SHUT_RDWR);
    thread_.join();
  }

  // What it knows of the API server: whether that was reached, and keeps the field; and what is in the
  // slices.
  void set(bool published, bool sharing, int devices = 1) {
    const std::lock_guard lock(mutex_);
    answer_ = std::string(R"({"published":)") + (published ? "true" : "false") +
              R"(,"reason":"","node":"node-1","slices":1,"sharing":)" + (sharing ? "true" : "false") +
              R"(,"devices":)" + std::to_string(devices) + "}";
  }
  // Whether the last offer has the device; any has had it.
  bool has(const std::string& device) const { return is_in(device, body_); }
  bool has_had(const std::string& device) const { return is_in(device, bodies_); }

 private:
  void run() {
    for (;;) {
      const UniqueFd client(::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!client.valid()) return;
      std::string request;
      char part[4096];
      for (ssize_t got = 0; !is_whole(request) && (got = ::read(client.get(), part, sizeof part)) > 0;)
        request.append(part, static_cast<size_t>(got));
      const std::lock_guard lock(mutex_);
      body_ = request.substr(std::min(request.size(), request.find("\r\n\r\n")));
      bodies_ += body_;
      const std::string answer = "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(answer_.size()) +
                                 "\r\nConnection: close\r\n\r\n" + answer_;
      (void)!::write(client.get(), answer.data(), answer.size());
    }
  }
  bool is_in(const std::string& device, const std::string& text) const {
    const std::lock_guard lock(mutex_);
    return text.find('"' + device + '"') != std::string::npos;
  }
  static bool is_whole(const std::string& request) {
    const size_t end = request.find("\r\n\r\n");
    const size_t length = request.find("Content-Length: ");
    return end != std::string::npos && length < end &&
           request.size() >= end + 4 + std::strtoull(request.c_str() + length + 16, nullptr, 10);
  }

  const UniqueFd fd_;
  mutable std::mutex mutex_;
  std::string answer_ = R"({"published":false,"reason":"the API server is away","node":"node-1"})";
  std::string body_;
  std::string bodies_;  // of all requests
  std::thread thread_;
};

}  // namespace vfrail::test

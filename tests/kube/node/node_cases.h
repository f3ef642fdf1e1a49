// Devices as vfrail serve offers them, and a client of the socket of `vfrail-kube node`, for tests.
#pragma once

#include "common/json.h"
#include "common/unique_fd.h"
#include "plugin/kube/access/fields.h"
#include "tests/support/deadline.h"

#include <chrono>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>

#include <catch2/catch.hpp>

namespace vfrail::test {

inline Json parsed(const std::string& text) {
  auto out = Json::parse(text, 16 << 20);
  if (!out) FAIL(out.error().text);
  return *std::move(out);
}

inline Json vf(size_t number, const std::string& resource = "nvidia.com/hostdev") {
  return parsed(R"({"name":"0000-3b-02-)" + std::to_string(number) + R"(","attributes":{
      "k8s.cni.cncf.io/resourceName":{"string":")" +
                resource + R"("},"vfIndex":{"int":)" + std::to_string(number) +
                R"(},"rdma":{"bool":true},"firmware":{"version":"20.39.1002"}},
      "capacity":{"bandwidth":{"value":"200G"}}})");
}

inline Json::Array vfs(size_t number) {
  Json::Array out;
  for (size_t i = 0; i < number; ++i) out.push_back(vf(i));
  return out;
}

inline Json with_taint(Json device, const std::string& value = "down") {
  device.set("taints",
             parsed(R"([{"key":"vfrail.io/link","value":")" + value + R"(","effect":"NoSchedule"}])"));
  return device;
}

template <class Condition>
bool comes_true(Condition condition) {
  const auto deadline = std::chrono::steady_clock::now() + kDeadline;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

// A connection to a Unix socket, as the other side of one request.
class SocketClient {
 public:
  explicit SocketClient(const std::string& path) : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    connected_ = ::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }

  bool is_connected() const { return connected_; }
  void send(std::string_view text) {
    while (!text.empty()) {
      const ssize_t sent = ::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      text.remove_prefix(static_cast<size_t>(sent));
    }
  }
  std::string read_all() {
    std::string out;
    char buffer[4096];
    for (ssize_t got = 0; (got = ::recv(fd_.get(), buffer, sizeof buffer, 0)) > 0;)
      out.append(buffer, static_cast<size_t>(got));
    return out;
  }

 private:
  UniqueFd fd_;
  bool connected_ = false;
};

struct SocketAnswer {
  int status = 0;
  Json body;

  std::string reason() const { return kube::text_at(body, {"reason"}); }
};

inline SocketAnswer ask(const std::string& path, const std::string& method, const std::string& target,
                        const std::string& body = "") {
  SocketClient client(path);
  if (!client.is_connected()) return {};
  client.send(method + " " + target + " HTTP/1.1\r\nHost: vfrail\r\nContent-Length: " +
              std::to_string(body.size()) + "\r\n\r\n" + body);
  const std::string answer = client.read_all();
  const size_t end = answer.find("\r\n\r\n");
  if (end == std::string::npos || answer.substr(0, 9) != "HTTP/1.1 ") return {};
  return {std::stoi(answer.substr(9, 3)), parsed(answer.substr(end + 4))};
}

}  // namespace vfrail::test

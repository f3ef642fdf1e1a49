// The dhcp plugin with its daemon, as Debian ships them, and a DHCP server at the peer: the lease is
// released, because the plugin's DEL runs while the interface still is in the pod.
#include "common/unique_fd.h"
#include "tests/netns/node.h"
#include "tests/support/deadline.h"

#include <array>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>

#include <catch2/catch.hpp>

namespace vfrail::test {
namespace {

// RFC 2131, section 2, and RFC 2132, section 9.6.
constexpr size_t kYourAddress = 16;
constexpr size_t kServerAddress = 20;
constexpr size_t kOptions = 240;  // behind the magic cookie
constexpr uint8_t kMessageType = 53;
enum Message : uint8_t { discover = 1, offer = 2, request = 3, ack = 5, release = 7 };

// Where the options are well-formed, the type of message; else 0.
uint8_t message_type(const std::vector<uint8_t>& packet) {
  for (size_t at = kOptions; at + 2 < packet.size() && packet[at] != 255;) {
    if (packet[at] == kMessageType) return packet[at + 2];
    at += packet[at] == 0 ? 1 : size_t{2} + packet[at + 1];
  }
  return 0;
}

// 10.8.0.50/24 for an hour, from 10.8.0.1.
std::vector<uint8_t> answer_to(const std::vector<uint8_t>& packet, uint8_t type) {
  std::vector<uint8_t> out(packet.begin(), packet.begin() + kOptions);
  out[0] = 2;  // BOOTREPLY
  const std::array<uint8_t, 4> yours{10, 8, 0, 50};
  const std::array<uint8_t, 4> ours{10, 8, 0, 1};
  std::copy(yours.begin(), yours.end(), out.begin() + kYourAddress);
  std::copy(ours.begin(), ours.end(), out.begin() + kServerAddress);
  for (const uint8_t byte : {kMessageType, uint8_t{1},   type,        uint8_t{54}, uint8_t{4}, ours[0],
                             ours[1],      ours[2],      ours[3],     uint8_t{51}, uint8_t{4}, uint8_t{0},
                             uint8_t{0},   uint8_t{14},  uint8_t{16}, uint8_t{1},  uint8_t{4}, uint8_t{255},
                             uint8_t{255}, uint8_t{255}, uint8_t{0},  uint8_t{255}})
    out.push_back(byte);
  out.resize(out.size() + 60);
  return out;
}

// Serves until it is killed; a character in `seen` for each message: D, R, and L for a released lease.
void serve(const std::string& device, const std::string& seen) {
  const UniqueFd fd(::socket(AF_INET, SOCK_DGRAM, 0));
  const int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_BROADCAST, &on, sizeof on);
  ::setsockopt(fd.get(), SOL_SOCKET, SO_BINDTODEVICE, device.c_str(), static_cast<socklen_t>(device.size()));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(67);
  if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return;
  address.sin_addr.s_addr = htonl(INADDR_BROADCAST);
  address.sin_port = htons(68);
  for (std::vector<uint8_t> packet(2048);; packet.resize(2048)) {
    const ssize_t size = ::recv(fd.get(), packet.data(), packet.size(), 0);
    if (size < static_cast<ssize_t>(kOptions)) continue;
    packet.resize(static_cast<size_t>(size));
    const uint8_t type = message_type(packet);
    std::ofstream(seen, std::ios::app) << (type == discover  ? "D"
                                           : type == request ? "R"
                                           : type == release ? "L"
                                                             : "?");
    if (type != discover && type != request) continue;
    const auto answer = answer_to(packet, type == discover ? offer : ack);
    ::sendto(fd.get(), answer.data(), answer.size(), 0, reinterpret_cast<sockaddr*>(&address),
             sizeof address);
  }
}

class Server {
 public:
  Server(const std::string& device, const std::string& seen) : pid_(::fork()) {
    if (pid_ != 0) return;
    serve(device, seen);
    ::_exit(1);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

 private:
  pid_t pid_;
};

template <class Condition>
bool eventually(Condition condition) {
  const auto deadline = std::chrono::steady_clock::now() + kDeadline;
  while (!condition() && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return condition();
}

}  // namespace

TEST_CASE("A lease of the real dhcp plugin is released at DEL") {
  Node node;
  node.add_device("0000:03:02.1", "vf1");
  shell("ip addr add 10.8.0.1/24 dev vf1p");
  const std::string pod = node.add_pod("a");
  const std::string before = node.world();
  const Server server("vf1p", node.path("seen"));
  const std::string socket = node.path("dhcp.sock");
  const Program daemon({"/usr/lib/cni/dhcp", "daemon", "-socketpath", socket}, {}, "");
  REQUIRE(eventually([&] { return ::access(socket.c_str(), F_OK) == 0; }));

  Call call;
  call.netns = pod;
  call.config = node.config();
  call.config.set("ipam", Json::object().set("type", "dhcp").set("daemonSocketPath", socket));
  const Outcome added = node.run(call);
  INFO(added.out << added.err);
  REQUIRE(added.status == 0);
  CHECK(added.out.find("10.8.0.50/24") != std::string::npos);
  CHECK(read_text(node.path("seen")).find('L') == std::string::npos);
  call.verb = "DEL";
  const Outcome deleted = node.run(call);
  INFO(deleted.out << deleted.err);
  CHECK(deleted.status == 0);
  CHECK(eventually([&] { return read_text(node.path("seen")).ends_with("L"); }));
  CHECK(node.world() == before);
}

}  // namespace vfrail::test

// The announcement of a pod's addresses, as the other end of its wire receives it.
#include "common/unique_fd.h"
#include "tests/netns/one_pod.h"
#include "tests/support/deadline.h"

#include <arpa/inet.h>
#include <chrono>
#include <net/if.h>
#include <sys/socket.h>

#include <catch2/catch.hpp>
#include <linux/if_ether.h>
#include <linux/if_packet.h>

namespace vfrail::test {
namespace {

using Frame = std::vector<uint8_t>;

// Every frame that arrives at the host's end of the device.
class Wire {
 public:
  explicit Wire(const std::string& link) : socket_(::socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL))) {
    sockaddr_ll at{};
    at.sll_family = AF_PACKET;
    at.sll_protocol = htons(ETH_P_ALL);
    at.sll_ifindex = static_cast<int>(::if_nametoindex(link.c_str()));
    REQUIRE(::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0);
  }
  // Those of that EtherType that have come until now.
  std::vector<Frame> received(uint16_t type) const {
    std::vector<Frame> out;
    Frame frame(2048);
    for (ssize_t size = 0; (size = ::recv(socket_.get(), frame.data(), frame.size(), MSG_DONTWAIT)) > 0;) {
      const bool wanted = size > 14 && (frame[12] << 8 | frame[13]) == type;
      if (wanted) out.emplace_back(frame.begin(), frame.begin() + size);
    }
    return out;
  }

 private:
  UniqueFd socket_;
};

struct Announcing : OneDevice {
  Announcing() {
    network.set("mac", "02:00:00:00:00:07");
    addresses({"10.9.0.2/24", "10.8.0.3/24"});
  }
  void addresses(const std::vector<std::string>& list) {
    Json ipam = Json().set("type", "static").set("addresses", Json::array());
    for (const std::string& address : list) {
      Json addresses = *ipam.find("addresses");
      ipam.set("addresses", addresses.push(Json().set("address", address)));
    }
    network.set("ipam", ipam);
  }
  Outcome add() const {
    Outcome outcome = run(call("ADD"));
    INFO(outcome.out << outcome.err);
    REQUIRE(outcome.status == 0);
    return outcome;
  }
};

}  // namespace

TEST_CASE("The peer receives a gratuitous ARP for each IPv4 address") {
  Announcing node;
  const Wire wire("vf1p");
  node.add();
  const auto frames = wire.received(ETH_P_ARP);
  REQUIRE(frames.size() == 2);
  const Frame expected{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0,  0, 0, 0, 7, 8, 6, 0, 1, 8, 0,  6, 4, 0,
                       1,    2,    0,    0,    0,    0,    7, 10, 9, 0, 2, 0, 0, 0, 0, 0, 0, 10, 9, 0, 2};
  CHECK(frames[0] == expected);
  CHECK(frames[1].back() == 3);
}

TEST_CASE("A link whose peer is down is attached nevertheless") {
  Announcing node;
  shell("ip link set vf1p down");
  node.add();
}

TEST_CASE("The peer receives a neighbour advertisement for an IPv6 address once it is valid") {
  Announcing node;
  node.addresses({"fd07::5/64"});
  const Wire wire("vf1p");
  const auto start = std::chrono::steady_clock::now();
  node.add();
  std::vector<Frame> found;
  while (found.empty() && std::chrono::steady_clock::now() - start < test::kDeadline) {
    shell("sleep 0.05");
    for (Frame& frame : wire.received(ETH_P_IPV6)) {
      const bool advertisement = frame.size() >= 14 + 40 + 32 && frame[20] == 58 && frame[54] == 136;
      const bool of_ours = advertisement && frame[62] == 0xfd && frame[77] == 5;  // the target
      if (of_ours) found.push_back(std::move(frame));
    }
  }
  REQUIRE(found.size() == 1);
  const Frame& frame = found.front();
  CHECK(Frame(frame.begin(), frame.begin() + 6) == Frame{0x33, 0x33, 0, 0, 0, 1});  // ff02::1
  CHECK(frame[21] == 255);                                                          // hop limit
  CHECK(frame[58] == 0x20);                                                         // unsolicited, override
  CHECK(Frame(frame.end() - 6, frame.end()) == Frame{2, 0, 0, 0, 0, 7});
}

}  // namespace vfrail::test

#include "plugin/device/inventory/dcb.h"

#include <array>
#include <cstring>
#include <vector>

#include <catch2/catch.hpp>
#include <linux/dcbnl.h>
#include <linux/netlink.h>

using namespace vfrail;
using namespace vfrail::plugin;

namespace {

using Bytes = std::vector<std::byte>;

template <class Value>
Bytes bytes_of(const Value& value) {
  Bytes out(sizeof value);
  std::memcpy(out.data(), &value, sizeof value);
  return out;
}

Bytes operator+(Bytes left, const Bytes& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

Bytes attribute(uint16_t type, const Bytes& payload) {
  const nlattr header{static_cast<uint16_t>(sizeof(nlattr) + payload.size()), type};
  Bytes out = bytes_of(header) + payload;
  while (out.size() % 4 != 0) out.push_back(std::byte{0});
  return out;
}

Bytes entry(uint8_t selector, uint8_t priority, uint16_t protocol) {
  return attribute(DCB_ATTR_IEEE_APP, bytes_of(dcb_app{selector, priority, protocol}));
}

// As dcbnl_ieee_fill() of the kernel writes it.
Bytes answer() {
  ieee_pfc pfc{};
  pfc.pfc_en = 0x08;
  ieee_ets ets{};
  for (uint8_t priority = 0; priority < 8; ++priority) ets.prio_tc[priority] = priority < 4 ? priority : 1;
  const Bytes ieee =
      attribute(DCB_ATTR_IEEE_ETS, bytes_of(ets)) + attribute(DCB_ATTR_IEEE_PFC, bytes_of(pfc)) +
      attribute(DCB_ATTR_IEEE_APP_TABLE,
                entry(IEEE_8021QAZ_APP_SEL_DSCP, 3, 26) + entry(IEEE_8021QAZ_APP_SEL_DSCP, 5, 200) +
                    entry(IEEE_8021QAZ_APP_SEL_DSCP, 9, 46) + entry(IEEE_8021QAZ_APP_SEL_ETHERTYPE, 3, 24));
  return Bytes(NLMSG_HDRLEN + sizeof(dcbmsg)) +
         attribute(DCB_ATTR_IFNAME, bytes_of(std::array<char, 5>{'e', 't', 'h', '1', '\0'})) +
         attribute(DCB_ATTR_IEEE | NLA_F_NESTED, ieee);
}

}  // namespace

TEST_CASE(
    "DCB: the lossless priorities, the traffic classes and the entries of DSCP are read, others left out") {
  const DcbSettings found = parse_dcb(answer());
  REQUIRE(found.lossless == 0x08);
  CHECK(found.is_lossless(3));
  CHECK_FALSE(found.is_lossless(0));
  REQUIRE(found.traffic_class);
  CHECK((*found.traffic_class)[3] == 3);
  CHECK((*found.traffic_class)[7] == 1);
  CHECK(found.dscp == std::map<uint8_t, uint8_t>{{26, 3}});
}

TEST_CASE("DCB: what a driver does not say is not known, and a truncated answer is not read beyond its end") {
  const DcbSettings none = parse_dcb(Bytes(NLMSG_HDRLEN + sizeof(dcbmsg)));
  CHECK_FALSE(none.lossless);
  CHECK_FALSE(none.traffic_class);
  const Bytes whole = answer();
  for (size_t size = 0; size < whole.size(); ++size)
    CHECK_NOTHROW(parse_dcb(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size))));
}

TEST_CASE("DCB: the kernel is asked; a driver without DCB is none, a missing interface an error") {
  auto socket = NlSocket::open(NETLINK_ROUTE);
  REQUIRE(socket);
  const auto loopback = read_dcb(*socket, "lo");
  REQUIRE(loopback);
  CHECK_FALSE(loopback->has_value());
  // A kernel without CONFIG_DCB knows neither.
  const auto missing = read_dcb(*socket, "no_such_if");
  if (missing)
    CHECK_FALSE(missing->has_value());
  else
    CHECK(missing.error().text.find("no_such_if") != std::string::npos);
}

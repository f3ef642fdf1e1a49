// What the parsers of netlink messages share: headers and attributes, with every length checked. Included by
// netlink_parse*.cpp only, because it needs libnl's headers.
#pragma once

#include "common/netlink/parse.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>

#include <linux/netlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>

namespace vfrail {

inline Error malformed(const char* what) {
  return Error{Errc::protocol, 0, std::string("netlink answer of the kernel is malformed: ") + what};
}

// Calls `visit` with each attribute of [data, data + size); false if what is left over does not fit.
inline bool for_each_attribute(const void* data, size_t size,
                               const std::function<void(int, const nlattr*)>& visit) {
  auto* at = static_cast<nlattr*>(const_cast<void*>(data));
  int left = static_cast<int>(size);
  while (nla_ok(at, left) != 0) {
    visit(nla_type(at), at);
    at = nla_next(at, &left);
  }
  return left < NLA_HDRLEN;
}

inline std::string text_of(const nlattr* attribute) {
  const auto* data = static_cast<const char*>(nla_data(attribute));
  return {data, strnlen(data, static_cast<size_t>(nla_len(attribute)))};
}

inline std::vector<uint8_t> bytes_of(const nlattr* attribute) {
  const auto* data = static_cast<const uint8_t*>(nla_data(attribute));
  return {data, data + nla_len(attribute)};
}

template <class T>
T number_of(const nlattr* attribute) {
  T value{};
  std::memcpy(&value, nla_data(attribute), std::min(sizeof value, static_cast<size_t>(nla_len(attribute))));
  return value;
}

// The family header and where the attributes start. The message's length was checked by the caller of the
// receive, but tests also call these functions directly, so it is checked again.
template <class Header>
struct Parts {
  uint16_t type = 0;
  Header header{};
  const std::byte* attributes = nullptr;
  size_t size = 0;
};

template <class Header>
Result<Parts<Header>> split(NlBytes message) {
  nlmsghdr netlink{};
  if (message.size() < NLMSG_HDRLEN) return malformed("shorter than a header");
  std::memcpy(&netlink, message.data(), sizeof netlink);
  const size_t header_end = NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(Header));
  if (netlink.nlmsg_len > message.size() || netlink.nlmsg_len < header_end) return malformed("wrong length");
  Parts<Header> out;
  out.type = netlink.nlmsg_type;
  std::memcpy(&out.header, message.data() + NLMSG_HDRLEN, sizeof(Header));
  out.attributes = message.data() + header_end;
  out.size = netlink.nlmsg_len - header_end;
  return out;
}

// RDMA messages have no family header: the attributes follow the netlink header.
inline Result<NlBytes> rdma_attributes(NlBytes message) {
  nlmsghdr header{};
  if (message.size() < NLMSG_HDRLEN) return malformed("shorter than a header");
  std::memcpy(&header, message.data(), sizeof header);
  if (header.nlmsg_len > message.size() || header.nlmsg_len < NLMSG_HDRLEN) return malformed("wrong length");
  return message.subspan(NLMSG_HDRLEN, header.nlmsg_len - NLMSG_HDRLEN);
}

}  // namespace vfrail

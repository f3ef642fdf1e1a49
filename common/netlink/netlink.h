// NlMessage and NlSocket: requests, acknowledgements, dumps and notifications over libnl-3.
// Only netlink.cpp and attributes.h include libnl's headers. Knows no message's meaning.
#pragma once

#include "common/result.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

struct nl_msg;
struct nl_sock;

namespace vfrail {

class NlMessage {
 public:
  // `type` and `flags` as in nlmsghdr; NLM_F_REQUEST is added.
  NlMessage(uint16_t type, uint16_t flags);

  // The family's fixed header (ifinfomsg, ...), before any attribute.
  template <class Header>
  void put_header(const Header& header) {
    put_header_bytes(std::as_bytes(std::span(&header, 1)));
  }
  void put_u8(uint16_t attribute, uint8_t value);
  void put_u32(uint16_t attribute, uint32_t value);
  void put_text(uint16_t attribute, std::string_view value);  // with the terminating zero
  void put_bytes(uint16_t attribute, std::span<const uint8_t> value);
  void nest(uint16_t attribute, const std::function<void()>& fill);

  nl_msg* get() const { return message_.get(); }

 private:
  struct Free {
    void operator()(nl_msg* message) const;
  };
  void put_header_bytes(std::span<const std::byte> header);
  std::unique_ptr<nl_msg, Free> message_;
};

class NlSocket {
 public:
  using Deadline = std::chrono::steady_clock::time_point;
  // One netlink message, header included.
  using Handler = std::function<Result<>(std::span<const std::byte> message)>;

  // A socket of the namespace that the thread is in, and stays there. `protocol`: NETLINK_ROUTE, ...
  static Result<NlSocket> open(int protocol);

  // Sends and waits for the acknowledgement. The error has the kernel's errno and its error text, if it sent
  // one.
  Result<> request(const NlMessage& message);
  // Sends; `on_reply` gets the answer, which is one message. No acknowledgement is requested, which the
  // kernel drops behind an answer that fills the socket (SO_RCVBUF in netlink_attachskb()). An ENODEV, ENOENT
  // or similar is an error here like any other: the caller decides what it means. Nothing may be changed by
  // it: if the answer is lost it is sent again.
  Result<> query(const NlMessage& message, const Handler& on_reply);
  // Sends a request for a dump. Whatever the kernel lists can change between two of its messages, and then
  // entries are missing or repeated; the kernel reports that (NLM_F_DUMP_INTR). Then the dump is repeated
  // from the start, for which `begin_again` clears what `on_reply` has collected; so it is if a piece was
  // lost, or was too long. Errc::busy if the tables keep changing.
  Result<> dump(const NlMessage& message, const Handler& on_reply, const std::function<void()>& begin_again);

  Result<> join(uint32_t group);  // RTNLGRP_*
  // Waits for at least one notification and passes all that have arrived. False: the deadline passed. ENOBUFS
  // (notifications lost) counts as a notification: the caller reads the state itself.
  Result<bool> wait(Deadline deadline, const Handler& on_notification);

 private:
  struct Free {
    void operator()(nl_sock* socket) const;
  };
  explicit NlSocket(nl_sock* socket) : socket_(socket) {}
  // One request and its answer. `incomplete`: the answer has ended well, but a part of it was lost.
  Result<> ask(const NlMessage& message, const Handler& on_reply, bool& incomplete);
  std::unique_ptr<nl_sock, Free> socket_;
  size_t receive_bytes_ = 0;  // of its buffer
};

// A dump with one entry in each message.
template <class T>
Result<std::vector<T>> list(NlSocket& socket, const NlMessage& message,
                            Result<T> (*parse)(std::span<const std::byte>)) {
  std::vector<T> out;
  const auto add = [&](std::span<const std::byte> reply) -> Result<> {
    out.push_back(TRY(parse(reply)));
    return {};
  };
  TRY(socket.dump(message, add, [&] { out.clear(); }));
  return out;
}

}  // namespace vfrail

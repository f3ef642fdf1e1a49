#include "common/netlink/netlink.h"

#include <cerrno>
#include <cstring>
#include <optional>
#include <poll.h>
#include <string>
#include <sys/socket.h>

#include <linux/netlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>

namespace vfrail {

namespace {

// A dump comes in pieces of at most 32 KiB (netlink_dump() in net/netlink/af_netlink.c), unless one message
// is longer: that of a link has all its alternative names, of which a pod can add 64 KiB. A buffer that is
// too small for an answer is doubled, and the kernel asked again.
constexpr size_t kReceiveBytes = size_t{64} * 1024;
constexpr size_t kMaxReceiveBytes = size_t{1024} * 1024;

// The results of the callbacks of one exchange.
struct Exchange {
  const NlSocket::Handler* on_reply = nullptr;
  std::optional<Error> error;
  bool done = false;
  bool interrupted = false;  // a dump's table changed under it
  bool truncated = false;    // a reply was longer than the buffer, and is lost
  bool lost = false;         // a receive failed, and may have lost a reply
  bool of_one = false;       // the answer is one reply, or an error
  uint32_t sequence = 0;     // of the request that this is the answer to
};

// Dumps of a table that changes all the time. A dump takes some ms, a change of a link some 10.
constexpr int kMaxDumps = 50;
// Of another answer, and of one that was too long: the buffer is as large as it can be by then.
constexpr int kMaxQueries = 6;
// A reply can be lost on this side temporarily (ENOMEM in recvmsg()).
constexpr int kMaxReceives = 3;
constexpr int kReplyTimeoutMs = 1000;

// The kernel's text for an error (NETLINK_EXT_ACK): the attributes follow the echoed header, or the whole
// echoed request if NLM_F_CAPPED is not set (nlmsgerr in linux/netlink.h).
std::string extended_ack(const nlmsgerr* error) {
  const auto* header = reinterpret_cast<const nlmsghdr*>(reinterpret_cast<const char*>(error) - NLMSG_HDRLEN);
  if ((header->nlmsg_flags & NLM_F_ACK_TLVS) == 0) return {};
  size_t skip = sizeof(nlmsgerr);
  if ((header->nlmsg_flags & NLM_F_CAPPED) == 0) skip += error->msg.nlmsg_len - sizeof(nlmsghdr);
  skip = NLMSG_ALIGN(skip);
  const size_t size = header->nlmsg_len - NLMSG_HDRLEN;
  if (skip >= size) return {};
  auto* first = reinterpret_cast<nlattr*>(const_cast<char*>(reinterpret_cast<const char*>(error) + skip));
  const nlattr* text = nla_find(first, static_cast<int>(size - skip), NLMSGERR_ATTR_MSG);
  if (text == nullptr || nla_len(text) <= 0) return {};
  const auto* data = static_cast<const char*>(nla_data(text));
  return {data, strnlen(data, static_cast<size_t>(nla_len(text)))};
}

int on_valid(nl_msg* message, void* context) {
  auto& exchange = *static_cast<Exchange*>(context);
  const nlmsghdr* header = nlmsg_hdr(message);
  if (exchange.on_reply != nullptr && !exchange.error) {
    auto result = (*exchange.on_reply)(
        std::as_bytes(std::span(reinterpret_cast<const char*>(header), header->nlmsg_len)));
    if (!result) exchange.error = std::move(result).error();
  }
  if (!exchange.of_one) return NL_OK;
  exchange.done = true;
  return NL_STOP;
}

int on_end(nl_msg* message, void* context) {
  auto& exchange = *static_cast<Exchange*>(context);
  exchange.done = true;
  // A dump can end with an error: NLMSG_DONE carries it as an int (netlink_dump_done()).
  const nlmsghdr* header = nlmsg_hdr(message);
  if (header->nlmsg_type == NLMSG_DONE && header->nlmsg_len >= NLMSG_LENGTH(sizeof(int))) {
    int code = 0;
    std::memcpy(&code, nlmsg_data(header), sizeof code);
    if (code < 0 && !exchange.error) exchange.error = Error::from_errno(-code, "");
  }
  return NL_STOP;
}

int on_interrupted(nl_msg*, void* context) {
  static_cast<Exchange*>(context)->interrupted = true;
  return NL_OK;
}

int on_ack(nl_msg*, void* context) {
  static_cast<Exchange*>(context)->done = true;
  return NL_STOP;
}

// The answer to an earlier request that was abandoned: not an answer to this one, and no reason to refuse
// what follows (as libnl does by itself, also after a request that could not be sent).
int on_sequence(nl_msg* message, void* context) {
  return nlmsg_hdr(message)->nlmsg_seq == static_cast<Exchange*>(context)->sequence ? NL_OK : NL_SKIP;
}

int on_error(sockaddr_nl*, nlmsgerr* error, void* context) {
  auto& exchange = *static_cast<Exchange*>(context);
  exchange.done = true;
  if (!exchange.error) exchange.error = Error::from_errno(-error->error, extended_ack(error));
  return NL_STOP;
}

Error from_libnl(int code, std::string_view what) {
  return Error{Errc::system, 0, std::string(what) + ": " + nl_geterror(code)};
}

bool has_answer(nl_sock* socket) {
  pollfd entry{nl_socket_get_fd(socket), POLLIN, 0};
  return ::poll(&entry, 1, kReplyTimeoutMs) > 0;
}

struct FreeCallbacks {
  void operator()(nl_cb* callbacks) const { nl_cb_put(callbacks); }
};

Result<> receive_until_done(nl_sock* socket, Exchange& exchange) {
  const std::unique_ptr<nl_cb, FreeCallbacks> callbacks(nl_cb_alloc(NL_CB_DEFAULT));
  if (!callbacks) return Error::from_errno(ENOMEM, "receive netlink answer");
  nl_cb_set(callbacks.get(), NL_CB_VALID, NL_CB_CUSTOM, on_valid, &exchange);
  nl_cb_set(callbacks.get(), NL_CB_FINISH, NL_CB_CUSTOM, on_end, &exchange);
  nl_cb_set(callbacks.get(), NL_CB_DUMP_INTR, NL_CB_CUSTOM, on_interrupted, &exchange);
  nl_cb_set(callbacks.get(), NL_CB_ACK, NL_CB_CUSTOM, on_ack, &exchange);
  nl_cb_set(callbacks.get(), NL_CB_SEQ_CHECK, NL_CB_CUSTOM, on_sequence, &exchange);
  nl_cb_err(callbacks.get(), NL_CB_CUSTOM, on_error, &exchange);
  for (int failures = 0; !exchange.done;) {
    const int code = nl_recvmsgs(socket, callbacks.get());
    if (code >= 0 || exchange.done) continue;
    // The kernel has done what was requested, or not, and only its answer shows which; so it is received
    // again, if it is there. The end of an answer does not say that nothing of it was lost before.
    const bool truncated = code == -NLE_MSG_TRUNC;
    (truncated ? exchange.truncated : exchange.lost) = true;
    exchange.done = truncated && exchange.of_one;
    if (exchange.done) break;
    failures += truncated ? 0 : 1;
    if (failures == kMaxReceives || !has_answer(socket)) return from_libnl(code, "receive netlink answer");
  }
  if (exchange.error) return std::move(*exchange.error);
  if (exchange.interrupted)
    return Error{Errc::busy, EINTR, "the kernel's tables changed while they were listed; try again"};
  return {};
}

bool was_interrupted(const Result<>& dumped) {
  return !dumped && dumped.error().code == Errc::busy && dumped.error().sys == EINTR;
}

}  // namespace

NlMessage::NlMessage(uint16_t type, uint16_t flags)
    : message_(nlmsg_alloc_simple(type, static_cast<int>(flags) | NLM_F_REQUEST)) {}

void NlMessage::Free::operator()(nl_msg* message) const { nlmsg_free(message); }

// The put functions can fail only when the message outgrows its page, which no request of vfrail comes near;
// the kernel would refuse the truncated message.
void NlMessage::put_header_bytes(std::span<const std::byte> header) {
  nlmsg_append(message_.get(), const_cast<std::byte*>(header.data()), header.size(), NLMSG_ALIGNTO);
}
void NlMessage::put_u8(uint16_t attribute, uint8_t value) { nla_put_u8(message_.get(), attribute, value); }
void NlMessage::put_u32(uint16_t attribute, uint32_t value) { nla_put_u32(message_.get(), attribute, value); }
void NlMessage::put_text(uint16_t attribute, std::string_view value) {
  nla_put_string(message_.get(), attribute, std::string(value).c_str());
}
void NlMessage::put_bytes(uint16_t attribute, std::span<const uint8_t> value) {
  nla_put(message_.get(), attribute, static_cast<int>(value.size()), value.data());
}
void NlMessage::nest(uint16_t attribute, const std::function<void()>& fill) {
  nlattr* start = nla_nest_start(message_.get(), attribute);
  fill();
  if (start != nullptr) nla_nest_end(message_.get(), start);
}

void NlSocket::Free::operator()(nl_sock* socket) const { nl_socket_free(socket); }

Result<NlSocket> NlSocket::open(int protocol) {
  NlSocket out(nl_socket_alloc());
  if (!out.socket_) return Error::from_errno(ENOMEM, "open netlink socket");
  if (const int code = nl_connect(out.socket_.get(), protocol); code < 0) {
    // -NLE_PROTO_MISMATCH is libnl's code for EPROTONOSUPPORT: the subsystem is not in this kernel.
    if (code == -NLE_PROTO_MISMATCH || code == -NLE_OPNOTSUPP) {
      return Error{Errc::unsupported, EPROTONOSUPPORT,
                   "open netlink socket: this kernel does not have the protocol"};
    }
    return from_libnl(code, "open netlink socket");
  }
  nl_socket_disable_auto_ack(out.socket_.get());  // only request() wants one
  out.receive_bytes_ = kReceiveBytes;
  nl_socket_set_msg_buf_size(out.socket_.get(), out.receive_bytes_);
  const int fd = nl_socket_get_fd(out.socket_.get());
  const int on = 1;
  // Both only improve the kernel's answers (its own error text; filtered dumps), so a refusal does not
  // matter.
  setsockopt(fd, SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof on);
  setsockopt(fd, SOL_NETLINK, NETLINK_GET_STRICT_CHK, &on, sizeof on);
  return out;
}

Result<> NlSocket::request(const NlMessage& message) {
  const Handler ignore = [](std::span<const std::byte>) { return Result<>(); };
  nlmsg_hdr(message.get())->nlmsg_flags |= NLM_F_ACK;
  // With its acknowledgement nothing is missing, whatever was lost before.
  bool incomplete = false;
  return ask(message, ignore, incomplete);
}

Result<> NlSocket::ask(const NlMessage& message, const Handler& on_reply, bool& incomplete) {
  const nlmsghdr* header = nlmsg_hdr(message.get());
  if (const int code = nl_send_auto(socket_.get(), message.get()); code < 0) {
    return from_libnl(code, "send netlink request");
  }
  Exchange exchange;
  exchange.on_reply = &on_reply;
  exchange.of_one = (header->nlmsg_flags & (NLM_F_DUMP | NLM_F_ACK)) == 0;
  exchange.sequence = header->nlmsg_seq;
  auto done = receive_until_done(socket_.get(), exchange);
  incomplete = exchange.done && !exchange.error && (exchange.truncated || exchange.lost);
  const bool grows = exchange.truncated && receive_bytes_ < kMaxReceiveBytes;
  if (grows) nl_socket_set_msg_buf_size(socket_.get(), receive_bytes_ *= 2);
  return done;
}

Result<> NlSocket::query(const NlMessage& message, const Handler& on_reply) {
  for (int queries = 1;; ++queries) {
    bool incomplete = false;
    auto asked = ask(message, on_reply, incomplete);
    if (!incomplete) return asked;
    if (queries == kMaxQueries)
      return Error{Errc::busy, 0, "receive netlink answer: a part of it was lost each time; try again"};
    nlmsg_hdr(message.get())->nlmsg_seq = NL_AUTO_SEQ;
  }
}

Result<> NlSocket::dump(const NlMessage& message, const Handler& on_reply,
                        const std::function<void()>& begin_again) {
  for (int dumps = 1;; ++dumps) {
    bool incomplete = false;
    auto dumped = ask(message, on_reply, incomplete);
    if (!incomplete && !was_interrupted(dumped)) return dumped;
    if (dumps == kMaxDumps) {
      if (!incomplete) return dumped;
      return Error{Errc::busy, 0, "receive netlink answer: a part of it was lost each time; try again"};
    }
    begin_again();
    nlmsg_hdr(message.get())->nlmsg_seq = NL_AUTO_SEQ;
  }
}

Result<> NlSocket::join(uint32_t group) {
  if (const int code = nl_socket_add_membership(socket_.get(), static_cast<int>(group)); code < 0) {
    return from_libnl(code, "subscribe to netlink notifications");
  }
  // Notifications carry sequence number 0, which the check would refuse.
  nl_socket_disable_seq_check(socket_.get());
  // wait() reads until there is nothing more; on a blocking socket it would never return.
  if (const int code = nl_socket_set_nonblocking(socket_.get()); code < 0)
    return from_libnl(code, "read netlink notifications without waiting");
  return {};
}

Result<bool> NlSocket::wait(Deadline deadline, const Handler& on_notification) {
  pollfd entry{nl_socket_get_fd(socket_.get()), POLLIN, 0};
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    const int ready = ::poll(&entry, 1, static_cast<int>(std::min<int64_t>(left.count(), 60'000)));
    if (ready < 0 && errno != EINTR) return Error::from_errno(errno, "wait for netlink notification");
    if (ready > 0) break;
  }
  Exchange exchange;
  exchange.on_reply = &on_notification;
  const std::unique_ptr<nl_cb, FreeCallbacks> callbacks(nl_cb_alloc(NL_CB_DEFAULT));
  if (!callbacks) return Error::from_errno(ENOMEM, "receive netlink notification");
  nl_cb_set(callbacks.get(), NL_CB_VALID, NL_CB_CUSTOM, on_valid, &exchange);
  nl_cb_set(
      callbacks.get(), NL_CB_SEQ_CHECK, NL_CB_CUSTOM, [](nl_msg*, void*) { return int{NL_OK}; }, nullptr);
  while (nl_recvmsgs(socket_.get(), callbacks.get()) >= 0) {
  }
  // Why the loop ended: nothing more to read (EAGAIN) or lost notifications (ENOBUFS, -NLE_NOMEM in libnl).
  if (exchange.error) return std::move(*exchange.error);
  return true;
}

}  // namespace vfrail

#include "plugin/kube/client/name_lookup.h"

#include "common/ip_address.h"

#include <ares.h>
#include <arpa/inet.h>
#include <memory>
#include <mutex>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/select.h>
#include <sys/time.h>

namespace vfrail::kube {

namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

struct Answer {
  bool done = false;
  int status = ARES_SUCCESS;
  std::vector<std::string> addresses;
};

void take_addresses(void* argument, int status, int /*timeouts*/, ares_addrinfo* result) {
  Answer& answer = *static_cast<Answer*>(argument);
  answer.done = true;
  answer.status = status;
  for (const ares_addrinfo_node* node = result == nullptr ? nullptr : result->nodes; node != nullptr;
       node = node->ai_next) {
    char text[INET6_ADDRSTRLEN] = {};
    const void* address =
        node->ai_family == AF_INET6
            ? static_cast<const void*>(&reinterpret_cast<sockaddr_in6*>(node->ai_addr)->sin6_addr)
            : static_cast<const void*>(&reinterpret_cast<sockaddr_in*>(node->ai_addr)->sin_addr);
    if (::inet_ntop(node->ai_family, address, text, sizeof text) != nullptr)
      answer.addresses.emplace_back(text);
  }
  ares_freeaddrinfo(result);
}

// One turn of waiting; c-ares shortens it to its own next retry.
void wait_turn(ares_channel channel, milliseconds left) {
  fd_set reading;
  fd_set writing;
  FD_ZERO(&reading);
  FD_ZERO(&writing);
  const int count = ares_fds(channel, &reading, &writing);
  timeval most{static_cast<time_t>(left.count() / 1000),
               static_cast<suseconds_t>(left.count() % 1000 * 1000)};
  timeval storage{};
  timeval* wait = ares_timeout(channel, &most, &storage);
  if (::select(count, &reading, &writing, nullptr, wait) >= 0) ares_process(channel, &reading, &writing);
}

int initialize_once() {
  static std::once_flag once;
  static int status = ARES_SUCCESS;
  std::call_once(once, [] { status = ares_library_init(ARES_LIB_INIT_ALL); });
  return status;
}

}  // namespace

Result<std::vector<std::string>> addresses_of(const std::string& host, milliseconds time) {
  if (IpAddress::parse(host)) return std::vector<std::string>{host};
  ares_channel channel = nullptr;
  int status = initialize_once();
  if (status == ARES_SUCCESS) status = ares_init(&channel);
  if (status != ARES_SUCCESS)
    return Error{Errc::system, 0, "look up " + host + ": " + std::string(ares_strerror(status))};
  const std::unique_ptr<ares_channeldata, void (*)(ares_channel)> owned(channel, ares_destroy);
  Answer answer;
  ares_addrinfo_hints hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_flags = ARES_AI_ENVHOSTS;
  hints.ai_socktype = SOCK_STREAM;
  const auto deadline = Clock::now() + time;
  ares_getaddrinfo(channel, host.c_str(), nullptr, &hints, take_addresses, &answer);
  while (!answer.done) {
    const auto left = std::chrono::duration_cast<milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) ares_cancel(channel);
    if (!answer.done) wait_turn(channel, left);
  }
  if (answer.status == ARES_ECANCELLED || answer.status == ARES_ETIMEOUT)
    return Error{Errc::timeout, 0, "look up " + host + ": no answer of the name server in time"};
  if (answer.status != ARES_SUCCESS || answer.addresses.empty())
    return Error{Errc::not_found, 0, "look up " + host + ": " + std::string(ares_strerror(answer.status))};
  return answer.addresses;
}

}  // namespace vfrail::kube

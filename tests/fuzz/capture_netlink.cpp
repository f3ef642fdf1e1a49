// Writes what the kernel answers to dumps of links, addresses and routes in the current network namespace,
// one message a file: `unshare -n` and some `ip` commands around it make seeds (corpus/README.md).
#include "common/unique_fd.h"

#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <sys/socket.h>
#include <vector>

#include <linux/rtnetlink.h>

namespace {

struct Question {
  const char* name;
  uint16_t type;
};

bool ask(int fd, uint16_t type) {
  struct {
    nlmsghdr header;
    rtgenmsg family;
  } question{};
  question.header.nlmsg_len = sizeof question;
  question.header.nlmsg_type = type;
  question.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  return ::send(fd, &question, sizeof question, 0) == ssize_t{sizeof question};
}

// False when the dump has ended.
bool save_messages(const char* data, size_t size, const std::string& stem, int& count) {
  while (size >= sizeof(nlmsghdr)) {
    nlmsghdr header{};
    std::memcpy(&header, data, sizeof header);
    if (header.nlmsg_len < sizeof header || header.nlmsg_len > size) return false;
    if (header.nlmsg_type == NLMSG_DONE || header.nlmsg_type == NLMSG_ERROR) return false;
    std::ofstream(stem + std::to_string(++count)).write(data, header.nlmsg_len);
    const size_t step = std::min<size_t>(NLMSG_ALIGN(header.nlmsg_len), size);
    data += step;
    size -= step;
  }
  return true;
}

bool save_dump(const Question& question, const std::string& folder) {
  const vfrail::UniqueFd fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  if (!fd.valid() || !ask(fd.get(), question.type)) return false;
  std::vector<char> buffer(1 << 16);
  int count = 0;
  for (;;) {
    const ssize_t got = ::recv(fd.get(), buffer.data(), buffer.size(), 0);
    if (got <= 0) return false;
    const std::string stem = folder + "/" + question.name + "-";
    if (!save_messages(buffer.data(), static_cast<size_t>(got), stem, count)) return count > 0;
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fputs("fuzz_capture FOLDER\n", stderr);
    return 2;
  }
  constexpr Question kQuestions[] = {
      {"link", RTM_GETLINK}, {"address", RTM_GETADDR}, {"route", RTM_GETROUTE}};
  for (const Question& question : kQuestions) {
    if (save_dump(question, arguments[1])) continue;
    std::fprintf(stderr, "fuzz_capture: no answer to the dump of each %s\n", question.name);
    return 1;
  }
  return 0;
}

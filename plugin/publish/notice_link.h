// NoticeLink: sends what an administrator must see of this node to `vfrail-kube node`, which has a token and
// posts it as Events of the Node: at each change, and every minute, as an agent that has started anew knows
// nothing. A thread of its own, which asks the daemon's status. Decides nothing about devices.
#pragma once

#include "common/log.h"
#include "plugin/dra/agent_client.h"
#include "plugin/observe/status/notices.h"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

namespace vfrail::plugin {

// What `vfrail-kube node` reads: {"notices":[{"reason","about","text"}]}.
std::string notices_body(const std::vector<Notice>& notices);

class NoticeLink {
 public:
  using Status = std::function<std::shared_ptr<const NodeStatus>()>;
  struct Options {
    std::string socket;
    // An Event is for people: it need not be there at once.
    std::chrono::milliseconds interval{10'000};
    std::chrono::milliseconds repeat{60'000};
  };

  // `status` is called on its thread; it and `log` outlive this.
  NoticeLink(Options options, Status status, Log& log);
  NoticeLink(const NoticeLink&) = delete;
  NoticeLink& operator=(const NoticeLink&) = delete;
  ~NoticeLink();

 private:
  void run(const std::stop_token& stop);
  void send(const std::string& body);

  const Options options_;
  const Status status_;
  Log& log_;
  AgentClient agent_;
  NoticeFinder finder_;
  std::string failure_;  // the last one that was logged; empty: the last was taken
  std::jthread thread_;
};

}  // namespace vfrail::plugin

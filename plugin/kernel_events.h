// KernelEvents: the sockets on which the kernel says that something changed. Owns them; says only "look
// again", never what to do. A socket that cannot be had is told once, and the slow rescan stands in for it.
#pragma once

#include "common/log.h"
#include "common/unique_fd.h"
#include "plugin/kernel_message.h"
#include "plugin/verbs_events.h"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace vfrail {

class KernelEvents {
 public:
  enum class Verbs : uint8_t { off, on };
  // `verbs`: whether RDMA devices are opened to hear them, too (see VerbsEvents).
  explicit KernelEvents(Log& log, Verbs verbs = Verbs::off) : log_(log) {
    open_missing();
    if (verbs == Verbs::on) verbs_.emplace(log);
  }

  // Tries again what could not be opened: a module loaded late brings its netlink protocol along.
  void open_missing();
  // The RDMA devices of the ports that matter now.
  void follow_ports(const std::set<std::string>& rdma_devices);
  std::vector<int> fds() const;
  // Takes what is there, without waiting and a bounded number of messages. The first that matters in a few
  // words; nothing if none does. Messages that were lost (ENOBUFS) matter.
  std::optional<std::string> read();
  // Whether links and routes of namespaces that ours has a number for are heard, too: the host's, in a pod.
  bool hears_other_namespaces() const { return hears_other_namespaces_; }

 private:
  struct Ear {
    KernelVoice voice;
    UniqueFd fd;
  };
  void open(KernelVoice voice);
  std::optional<std::string> read(const Ear& ear) const;

  Log& log_;
  std::vector<Ear> ears_;
  std::optional<VerbsEvents> verbs_;
  std::set<KernelVoice> told_;
  bool hears_other_namespaces_ = false;
};

}  // namespace vfrail

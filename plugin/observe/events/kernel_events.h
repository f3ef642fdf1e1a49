// KernelEvents: the sockets on which the kernel reports changes, and the further event sources that are read
// with them. Owns them; only requests a rescan, and never says what to do. A socket that cannot be opened is
// logged once, and the periodic rescan replaces it.
#pragma once

#include "common/log.h"
#include "common/unique_fd.h"
#include "plugin/observe/events/event_source.h"
#include "plugin/observe/events/kernel_message.h"
#include "plugin/observe/events/verbs_events.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace vfrail::plugin {

class KernelEvents {
 public:
  enum class Verbs : uint8_t { off, on };
  // `verbs`: whether RDMA devices are opened for their events, too (see VerbsEvents).
  explicit KernelEvents(Log& log, Verbs verbs = Verbs::off) : log_(log) {
    open_missing();
    if (verbs == Verbs::on) verbs_.emplace(log);
  }

  // Tries again what could not be opened: a module loaded late adds its netlink protocol.
  void open_missing();
  // The RDMA devices of the ports that matter now.
  void follow_ports(const std::set<std::string>& rdma_devices);
  // From now on events of this source are read, too.
  void add(std::unique_ptr<EventSource> source) { others_.push_back(std::move(source)); }
  std::vector<int> fds() const;
  // Reads what is there, without waiting and a bounded number of messages: all that changed, and the words of
  // the first that matters; empty if none does. Messages that were lost (ENOBUFS) can be about everything.
  std::optional<Event> read();
  // Whether every change that a scan would find has an event here, except of InfiniBand ports: no source is
  // missing that this kernel has, and the host's links and routes are among them. `own_is_host`: the network
  // namespace of this process is the host's.
  bool covers_all(bool own_is_host) const;
  bool covers_ports() const { return verbs_.has_value(); }
  // Whether links and routes of namespaces that this one has an id for are received, too: the host's, in a
  // pod.
  bool covers_other_namespaces() const { return covers_other_namespaces_; }

 private:
  struct Subscription {
    KernelSource kind;
    UniqueFd fd;
  };
  void open(KernelSource kind);
  std::optional<Event> read(const Subscription& subscription) const;

  Log& log_;
  std::vector<Subscription> subscriptions_;
  std::vector<std::unique_ptr<EventSource>> others_;
  std::optional<VerbsEvents> verbs_;
  std::set<KernelSource> reported_;
  bool covers_other_namespaces_ = false;
};

}  // namespace vfrail::plugin

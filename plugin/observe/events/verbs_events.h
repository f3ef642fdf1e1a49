// VerbsEvents: the asynchronous events of RDMA devices about their ports (libibverbs,
// ibv_get_async_event(3)). Owns the opened devices; only requests a rescan.
//
// Nothing else reports the state of an InfiniBand port at once, except an IPoIB interface on it. An opened
// device has its price: it needs the device's node in /dev/infiniband, and drivers without
// disassociate_ucontext() wait with their removal until it is closed (ib_uverbs_remove_one()). So this is
// optional, and opens the ports' own devices alone, never those that go to pods.
#pragma once

#include "common/log.h"
#include "plugin/observe/events/event_source.h"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

struct ibv_context;

namespace vfrail::plugin {

class VerbsEvents {
 public:
  explicit VerbsEvents(Log& log) : log_(log) {}

  // Opens those of `devices` ("mlx5_0") that are not open, and closes the others. One that cannot be opened
  // is logged once, and tried again with the next call.
  void follow(const std::set<std::string>& devices);
  std::vector<int> fds() const;
  // Reads what is there, without waiting: the devices, and the first in a few words; empty if there is none.
  // A device that is being removed is closed, so that it can be.
  std::optional<Event> read();

 private:
  struct Close {
    void operator()(ibv_context* context) const;
  };
  using Opened = std::unique_ptr<ibv_context, Close>;

  void open_missing(const std::set<std::string>& devices);
  // False when the device is to be closed.
  bool read(const std::string& device, ibv_context& context, std::optional<Event>& out) const;

  Log& log_;
  std::map<std::string, Opened> opened_;
  std::set<std::string> reported_;
};

}  // namespace vfrail::plugin

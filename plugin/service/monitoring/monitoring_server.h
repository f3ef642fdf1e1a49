// MonitoringServer: what `vfrail serve` shows at --metrics-address: /metrics, /inspect, /doctor, /healthz and
// /readyz, and the last two alone at --probe-address. Reads what others publish and count, and asks the
// kernel and kubelet; changes nothing.
#pragma once

#include "common/log.h"
#include "common/node/sys_root.h"
#include "common/result.h"
#include "plugin/device/match/devices_in_use.h"
#include "plugin/observe/metrics/device_counters.h"
#include "plugin/observe/metrics/metrics.h"
#include "plugin/observe/status/counters.h"
#include "plugin/observe/status/status.h"
#include "plugin/service/monitoring/http_server.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace vfrail::plugin {

class MonitoringServer {
 public:
  using MakePage = std::function<Result<std::string>()>;  // a text of JSON
  struct Options {
    ListenAddress address;
    bool metrics = true;  // false: /healthz and /readyz alone
    SysRoot sys;
    std::string kubelet_root;
    bool uses_cdi = false;
    size_t max_series = kMaxDeviceSeries;  // about single devices
    // Of the node; empty: there is no such page. Each is called by a thread of its own.
    MakePage inspect = {};
    MakePage doctor = {};
  };

  // `counters`, `status` and `log` outlive it.
  static Result<std::unique_ptr<MonitoringServer>> start(Options options, const Counters& counters,
                                                         LiveStatus& status, Log& log);
  MonitoringServer(const MonitoringServer&) = delete;
  MonitoringServer& operator=(const MonitoringServer&) = delete;

  const ListenAddress& address() const { return server_->address(); }

 private:
  MonitoringServer(Options options, const Counters& counters, LiveStatus& status, Log& log)
      : options_(std::move(options)), counters_(counters), status_(status), log_(log) {}
  HttpReply metrics();
  HttpReply node_page(const MakePage& make) const;
  HttpReply health() const;
  HttpReply readiness() const;
  bool ask_kubelet(const NodeStatus& status);
  CountersOfDevices read_devices(const NodeStatus& status);

  const Options options_;
  const Counters& counters_;
  LiveStatus& status_;
  Log& log_;
  // Of the thread that answers /metrics.
  std::shared_ptr<const DevicesInUse> in_use_;
  std::string complaint_;
  CounterMemory memory_;
  // The last: it calls what is above.
  std::unique_ptr<HttpServer> server_;
};

}  // namespace vfrail::plugin

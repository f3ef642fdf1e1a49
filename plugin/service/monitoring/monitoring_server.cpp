#include "plugin/service/monitoring/monitoring_server.h"

#include "common/errors/error_id.h"
#include "common/netlink/netlink_kernel.h"
#include "plugin/observe/metrics/pod_namespaces.h"
#include "plugin/service/kubelet/pod_resources.h"

#include <chrono>
#include <malloc.h>
#include <utility>
#include <vector>

namespace vfrail::plugin {

namespace {

using std::chrono::milliseconds;

constexpr const char* kMetricsType = "text/plain; version=0.0.4; charset=utf-8";
constexpr const char* kJsonType = "application/json";
// A scan of a thousand functions of a slow machine takes a second; nothing else holds the owner thread.
constexpr milliseconds kMaxHeartbeatAge{30'000};
// A scrape goes on without kubelet's answer. Prometheus waits 10 s by default.
constexpr milliseconds kKubeletTime{1'000};

}  // namespace

Result<std::unique_ptr<MonitoringServer>> MonitoringServer::start(Options options, const Counters& counters,
                                                                  LiveStatus& status, Log& log) {
  std::unique_ptr<MonitoringServer> out(new MonitoringServer(std::move(options), counters, status, log));
  MonitoringServer& self = *out;
  HttpServer::Pages pages{{"/healthz", {.answer = [&self] { return self.health(); }}},
                          {"/readyz", {.answer = [&self] { return self.readiness(); }}}};
  if (self.options_.metrics) pages["/metrics"] = {.answer = [&self] { return self.metrics(); }, .slow = true};
  const auto add = [&](const char* path, const MakePage& make) {
    if (self.options_.metrics && make)
      pages[path] = {.answer = [&self, &make] { return self.node_page(make); }, .slow = true};
  };
  add("/inspect", self.options_.inspect);
  add("/doctor", self.options_.doctor);
  const char* option = self.options_.metrics ? "--metrics-address" : "--probe-address";
  out->server_ = TRY(HttpServer::start(self.options_.address, std::move(pages)), option);
  return out;
}

HttpReply MonitoringServer::health() const {
  const auto age = status_.since_heartbeat();
  if (!age) return {.status = 503, .body = "the owner thread does not run\n"};
  if (*age > kMaxHeartbeatAge) {
    return {.status = 503,
            .body = "the owner thread has not answered for " + std::to_string(age->count() / 1000) + " s\n"};
  }
  return {.body = "ok\n"};
}

HttpReply MonitoringServer::readiness() const {
  const auto obstacles = find_obstacles(*status_.get());
  if (obstacles.empty()) return {.body = "ok\n"};
  HttpReply out;
  out.status = 503;
  for (const std::string& obstacle : obstacles) out.body += obstacle + "\n";
  return out;
}

HttpReply MonitoringServer::metrics() {
  HttpReply out;
  out.content_type = kMetricsType;
  {
    const auto status = status_.get();
    const bool fresh = ask_kubelet(*status);
    out.body = render_metrics({.counts = counters_.get(),
                               .status = status,
                               .in_use = in_use_,
                               .in_use_fresh = fresh,
                               .now = std::chrono::steady_clock::now(),
                               .devices = read_devices(*status),
                               .process = read_process_facts(),
                               .uses_cdi = options_.uses_cdi},
                              options_.max_series);
  }
  // The counters of a thousand devices are several times their text.
  ::malloc_trim(0);
  return out;
}

HttpReply MonitoringServer::node_page(const MakePage& make) const {
  HttpReply out;
  if (auto made = make(); made)
    out = {.status = 200, .content_type = kJsonType, .body = *std::move(made)};
  else
    out = {.status = 503, .body = made.error().text_with_id() + "\n"};
  // As a scan: it needs several times what stays.
  ::malloc_trim(0);
  return out;
}

// False: what is known of the pods is outdated, or nothing is known.
bool MonitoringServer::ask_kubelet(const NodeStatus& status) {
  PodResourcesCall::Request request{
      .socket = pod_resources_socket(options_.kubelet_root), .resources = {}, .timeout = kKubeletTime};
  for (const ResourceStatus& one : status.resources) request.resources.insert(one.pool->resource());
  if (request.resources.empty()) return false;
  auto answer = list_pod_resources(request);
  if (answer) {
    in_use_ = std::make_shared<const DevicesInUse>(*std::move(answer));
    complaint_.clear();
    return true;
  }
  if (complaint_ != answer.error().text) {
    complaint_ = answer.error().text;
    log_.warning("pod-resources API unavailable, metrics have no names of pods",
                 {{"reason", complaint_}, {"id", id_text(ErrorId::pod_resources)}});
  }
  return false;
}

CountersOfDevices MonitoringServer::read_devices(const NodeStatus& status) {
  std::vector<PublishedPool> pools;
  for (const ResourceStatus& one : status.resources) pools.push_back(one.pool);
  // A scrape is rare: a socket for each leaves nothing open between two, and no stale one.
  const auto kernel = NetlinkKernel::open_current();
  return read_device_counters({.sys = options_.sys,
                               .kernel = kernel ? kernel->get() : nullptr,
                               .pods = [&] { return read_pod_namespaces(options_.sys.path("")); },
                               .memory = &memory_,
                               .most_series = options_.max_series,
                               .in_use = in_use_.get()},
                              pools);
}

}  // namespace vfrail::plugin

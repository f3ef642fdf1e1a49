#include "plugin/observe/metrics/metrics.h"

#include "plugin/device/match/units.h"
#include "plugin/observe/metrics/device_rows.h"
#include "plugin/observe/metrics/metrics_text.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace vfrail::plugin {

namespace {

double seconds_since_1970(std::chrono::system_clock::time_point time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

void write_outcomes(MetricsText& out, const Counters::Outcomes& outcomes, std::string_view resource = {}) {
  out.sample({{"resource", resource}, {"result", "ok"}}, outcomes.ok);
  out.sample({{"resource", resource}, {"result", "failed"}}, outcomes.failed);
}

void write_durations(MetricsText& out, const Durations& durations) {
  uint64_t sum = 0;
  for (size_t i = 0; i < Durations::kBounds.size(); ++i) {
    sum += durations.counts[i];
    out.part("_bucket", {{"le", MetricsText::number(Durations::kBounds[i])}}, sum);
  }
  out.part("_bucket", {{"le", "+Inf"}}, durations.count());
  out.part("_sum", {}, durations.sum);
  out.part("_count", {}, durations.count());
}

void write_unhealthy(MetricsText& out, const NodeStatus& status) {
  out.gauge("vfrail_device_unhealthy", "Devices advertised as unhealthy, with the reason.");
  size_t room = kMaxUnhealthySeries;
  for (const ResourceStatus& one : status.resources) {
    const std::string resource = one.pool->resource();
    for (const PoolDevice& device : one.pool->devices) {
      if (device.fault.empty() || room == 0) continue;
      --room;
      out.sample({{"resource", resource}, {"device", device.id()}, {"reason", name_of(device.fault.code)}},
                 uint64_t{1});
    }
  }
}

void write_reason(MetricsText& out, std::string_view metric, std::string_view reason, ErrorId id) {
  out.sample({{"metric", metric}, {"reason", reason}, {"id", id_text(id)}}, uint64_t{1});
}

// The labels stay as they are: an id among them would make other series of them.
void write_reasons(MetricsText& out) {
  out.gauge("vfrail_reason_info",
            "Which id a reason has that a metric has as its label: see vfrail explain.");
  for (auto code = FaultCode::port_down; code <= kLastFaultCode;
       code = static_cast<FaultCode>(static_cast<uint8_t>(code) + 1))
    write_reason(out, "vfrail_device_unhealthy", name_of(code), id_of(code));
  for (auto kind = LeftOut::Kind::has_vfs; kind <= kLastLeftOutKind;
       kind = static_cast<LeftOut::Kind>(static_cast<uint8_t>(kind) + 1))
    write_reason(out, "vfrail_devices_left_out", name_of(kind), id_of(kind));
}

// Kubelet may still have ids that the pool has no more; they count, because a pod has them.
void write_pools(MetricsText& out, const MetricsInput& input) {
  out.gauge("vfrail_devices", "Devices advertised to kubelet, by resource and health.");
  for (const ResourceStatus& one : input.status->resources) {
    const auto& devices = one.pool->devices;
    const auto healthy = static_cast<uint64_t>(std::count_if(
        devices.begin(), devices.end(), [](const PoolDevice& device) { return device.fault.empty(); }));
    const std::string resource = one.pool->resource();
    out.sample({{"resource", resource}, {"state", "healthy"}}, healthy);
    out.sample({{"resource", resource}, {"state", "unhealthy"}}, devices.size() - healthy);
  }
  out.gauge("vfrail_units", "Units that kubelet counts, by resource and health: devices in most resources.");
  for (const ResourceStatus& one : input.status->resources) {
    const std::string resource = one.pool->resource();
    const size_t healthy = count_healthy(one.pool.units());
    out.sample({{"resource", resource}, {"state", "healthy"}}, uint64_t{healthy});
    out.sample({{"resource", resource}, {"state", "unhealthy"}}, uint64_t{one.pool.units().size() - healthy});
  }
  write_unhealthy(out, *input.status);
  if (input.in_use) {
    out.gauge("vfrail_devices_in_use", "Devices that a container has, by kubelet's pod-resources.");
    for (const ResourceStatus& one : input.status->resources) {
      const std::string resource = one.pool->resource();
      out.sample({{"resource", resource}}, uint64_t{input.in_use->count(resource)});
    }
    out.gauge("vfrail_pod_resources_age_seconds", "How old kubelet's answer about pods is.");
    out.sample({}, std::chrono::duration<double>(input.now - input.in_use->taken).count());
  }
  out.gauge("vfrail_pod_resources_up", "Whether kubelet answered the last question about pods.");
  out.sample({}, uint64_t{input.in_use_fresh ? 1U : 0U});
  out.gauge("vfrail_resource_registered", "Whether kubelet has registered the resource.");
  for (const ResourceStatus& one : input.status->resources) {
    out.sample({{"resource", one.pool->resource()}}, uint64_t{one.registered && one.serving ? 1U : 0U});
  }
  out.gauge("vfrail_scan_failing", "1: the last scan of the devices failed, what was read before stays.");
  out.sample({}, uint64_t{input.status->scan_failure.empty() ? 0U : 1U});
  out.gauge("vfrail_devices_unread",
            "Devices that the last scan could not read; what was read before stays advertised.");
  out.sample({}, uint64_t{input.status->unread});
  out.gauge("vfrail_orphaned_devices", "Devices that are attached although kubelet gives them to no pod.");
  out.sample({}, uint64_t{input.status->orphans.size()});
  out.gauge("vfrail_devices_left_out", "Functions of the node that are in no resource, by reason.");
  for (const auto kind : {LeftOut::Kind::has_vfs, LeftOut::Kind::no_driver, LeftOut::Kind::host_use,
                          LeftOut::Kind::not_selected}) {
    const auto found = input.status->left_out.find(kind);
    out.sample({{"reason", name_of(kind)}},
               uint64_t{found == input.status->left_out.end() ? 0 : found->second});
  }
  write_reasons(out);
  out.gauge("vfrail_config_skipped_entries", "Entries of the configuration that are faulty and not served.");
  out.sample({}, uint64_t{input.status->skipped.size()});
  out.gauge("vfrail_cdi_enabled", "Whether device nodes go by CDI; 0: by kubelet.");
  out.sample({}, uint64_t{input.uses_cdi ? 1U : 0U});
}

void write_counts(MetricsText& out, const Counters::Content& counts) {
  out.counter("vfrail_allocations_total", "Allocate calls of kubelet.");
  for (const auto& [resource, of] : counts.resources) write_outcomes(out, of.allocations, resource);
  out.histogram("vfrail_allocation_duration_seconds", "Time that Allocate calls took.");
  write_durations(out, counts.allocation_seconds);
  out.counter("vfrail_preferred_allocations_total", "GetPreferredAllocation calls of kubelet.");
  for (const auto& [resource, of] : counts.resources)
    out.sample({{"resource", resource}}, of.preferred_allocations);
  out.counter("vfrail_registrations_total", "Kubelet's answers to registrations.");
  for (const auto& [resource, of] : counts.resources) write_outcomes(out, of.registrations, resource);
  out.counter("vfrail_scans_total", "Scans of the node's devices.");
  write_outcomes(out, counts.scans);
  out.histogram("vfrail_scan_duration_seconds", "Time that scans of the devices took.");
  write_durations(out, counts.scan_seconds);
  if (counts.last_good_scan) {
    out.gauge("vfrail_last_scan_success_timestamp_seconds", "When the devices were last read.");
    out.sample({}, seconds_since_1970(*counts.last_good_scan));
  }
  out.counter("vfrail_config_reloads_total", "Changes of the configuration file that were read.");
  write_outcomes(out, counts.config_reloads);
}

void write_failures(MetricsText& out, const std::map<std::string, uint64_t>& failures) {
  for (const auto& [id, number] : failures) out.sample({{"id", id}}, number);
}

void write_claims(MetricsText& out, const Counters::OfClaims& claims) {
  out.gauge("vfrail_claims_prepared", "ResourceClaims of which something is prepared on this node.");
  out.sample({}, claims.prepared);
  out.counter("vfrail_claim_prepares_total", "Claims that kubelet wanted prepared, again ones too.");
  write_outcomes(out, claims.prepares);
  out.histogram("vfrail_claim_prepare_duration_seconds", "Time that preparing a claim took.");
  write_durations(out, claims.prepare_seconds);
  out.counter("vfrail_claim_prepare_failures_total", "Claims that were not prepared, by the error's id.");
  write_failures(out, claims.prepare_failures);
  out.counter("vfrail_claim_unprepares_total", "Claims that kubelet wanted unprepared.");
  write_outcomes(out, claims.unprepares);
  out.histogram("vfrail_claim_unprepare_duration_seconds", "Time that unpreparing a claim took.");
  write_durations(out, claims.unprepare_seconds);
  out.counter("vfrail_claim_unprepare_failures_total", "Claims that were not unprepared, by the error's id.");
  write_failures(out, claims.unprepare_failures);
}

void write_offer(MetricsText& out, const OfferStatus& offer) {
  out.gauge("vfrail_dra_published", "Whether the API server has this node's devices in ResourceSlices.");
  out.sample({}, uint64_t{offer.published ? 1U : 0U});
  out.gauge("vfrail_dra_not_published", "1, with the id of the reason, while they are not published.");
  if (!offer.published && !offer.not_published_id.empty())
    out.sample({{"id", offer.not_published_id}}, uint64_t{1});
  out.gauge("vfrail_dra_slices", "ResourceSlices of this node.");
  out.sample({}, static_cast<uint64_t>(offer.slices));
  out.counter("vfrail_dra_slice_writes_total", "Writes of ResourceSlices by vfrail-kube node.");
  out.sample({}, static_cast<uint64_t>(offer.writes));
}

void write_process(MetricsText& out, const ProcessFacts& process) {
  out.gauge("vfrail_build_info", "The version, as a label.");
  out.sample({{"version", VFRAIL_VERSION}}, uint64_t{1});
  out.counter("process_cpu_seconds_total", "Processor time.");
  out.sample({}, process.cpu_seconds);
  out.gauge("process_start_time_seconds", "When the process started.");
  out.sample({}, process.start_seconds);
  out.gauge("process_resident_memory_bytes", "Resident memory.");
  out.sample({}, process.resident_bytes);
  out.gauge("process_virtual_memory_bytes", "Virtual memory.");
  out.sample({}, process.virtual_bytes);
  out.gauge("process_threads", "Threads.");
  out.sample({}, process.threads);
  out.gauge("process_open_fds", "Open file descriptors.");
  out.sample({}, process.open_fds);
}

// A device with its counters, and who has it.
struct Row {
  std::string device;
  std::string resource;
  const PodContainer* by;
  const DeviceCounters* counters;
};

std::vector<Row> list_rows(const MetricsInput& input) {
  std::vector<PublishedPool> pools;
  for (const ResourceStatus& one : input.status->resources) pools.push_back(one.pool);
  std::vector<Row> out;
  for (DeviceRow& row : list_device_rows(pools, input.in_use.get())) {
    const auto counters = input.devices.find(row.device->id());
    if (counters == input.devices.end()) continue;
    out.push_back({counters->first, std::move(row.resource), row.by, &counters->second});
  }
  return out;
}

struct Dropped {
  uint64_t series = 0;
  uint64_t devices = 0;
};

// Truncates the list where there is no more room.
Dropped cut(std::vector<Row>& rows, size_t room) {
  Dropped out;
  std::erase_if(rows, [&](const Row& row) {
    const size_t series = row.counters->series();
    if (series == 0) return false;
    if (out.devices == 0 && row.counters->unread_series == 0 && series <= room) {
      room -= series;
      return false;
    }
    out.series += series;
    ++out.devices;
    return true;
  });
  return out;
}

struct TrafficMetric {
  const char* name;
  const char* help;
  uint64_t TrafficCounters::*value;
};

constexpr std::array<TrafficMetric, DeviceCounters::kTrafficSeries> kTraffic{{
    {"vfrail_device_receive_bytes_total", "Bytes that the device received.", &TrafficCounters::rx_bytes},
    {"vfrail_device_transmit_bytes_total", "Bytes that the device sent.", &TrafficCounters::tx_bytes},
    {"vfrail_device_receive_packets_total", "Packets that the device received.",
     &TrafficCounters::rx_packets},
    {"vfrail_device_transmit_packets_total", "Packets that the device sent.", &TrafficCounters::tx_packets},
    {"vfrail_device_receive_dropped_total", "Packets that were dropped on their way in.",
     &TrafficCounters::rx_dropped},
    {"vfrail_device_transmit_dropped_total", "Packets that were dropped on their way out.",
     &TrafficCounters::tx_dropped},
}};

void write_rows(MetricsText& out, const std::vector<Row>& rows) {
  for (const TrafficMetric& metric : kTraffic) {
    out.counter(metric.name, metric.help);
    for (const Row& row : rows) {
      if (!row.counters->traffic) continue;
      out.sample({{"resource", row.resource},
                  {"device", row.device},
                  {"namespace", row.by->pod_namespace},
                  {"pod", row.by->pod},
                  {"container", row.by->container}},
                 (*row.counters->traffic).*metric.value);
    }
  }
  out.counter("vfrail_rdma_port_stats_total", "A counter of an RDMA port, by the kernel's name for it.");
  for (const Row& row : rows) {
    for (const RdmaPortCounters& port : row.counters->rdma) {
      const std::string number = std::to_string(port.port);
      for (const NamedCounter& counter : port.counters) {
        out.sample({{"resource", row.resource},
                    {"device", row.device},
                    {"rdma_device", port.device},
                    {"port", number},
                    {"counter", counter.name},
                    {"namespace", row.by->pod_namespace},
                    {"pod", row.by->pod},
                    {"container", row.by->container}},
                   counter.value);
      }
    }
  }
}

void write_gaps(MetricsText& out, const CountersOfDevices& devices, const Dropped& dropped, size_t limit) {
  std::map<NoCounters, uint64_t> traffic;
  std::map<NoCounters, uint64_t> rdma;
  for (const auto& [id, counters] : devices) {
    if (counters.no_traffic) ++traffic[*counters.no_traffic];
    if (counters.no_rdma) ++rdma[*counters.no_rdma];
  }
  out.gauge("vfrail_devices_without_counters", "Devices whose counters cannot be read, by reason.");
  for (const auto& [reason, count] : traffic)
    out.sample({{"counters", "traffic"}, {"reason", reason_name(reason)}}, count);
  for (const auto& [reason, count] : rdma)
    out.sample({{"counters", "rdma"}, {"reason", reason_name(reason)}}, count);
  if (dropped.devices > 0) {
    out.comment("left out: " + std::to_string(dropped.series) + " series about " +
                std::to_string(dropped.devices) + " devices, because --metrics-max-series is " +
                std::to_string(limit) + "; devices in use come first");
  }
  out.gauge("vfrail_series_dropped", "Series about devices left out of this answer for want of room.");
  out.sample({}, dropped.series);
  out.gauge("vfrail_devices_dropped", "Devices whose series are left out of this answer for want of room.");
  out.sample({}, dropped.devices);
}

}  // namespace

std::string render_metrics(const MetricsInput& input, size_t max_device_series) {
  MetricsText out;
  write_pools(out, input);
  write_counts(out, input.counts);
  if (input.counts.claims) write_claims(out, *input.counts.claims);
  if (input.status->offer) write_offer(out, *input.status->offer);
  write_process(out, input.process);
  auto rows = list_rows(input);
  const Dropped dropped = cut(rows, max_device_series);
  write_rows(out, rows);
  write_gaps(out, input.devices, dropped, max_device_series);
  return std::move(out).take();
}

}  // namespace vfrail::plugin

#include "cni/in_pod/pod_report.h"

#include "cni/in_pod/facts/nccl_choice.h"
#include "common/escape.h"

#include <algorithm>
#include <string_view>

namespace vfrail::pod {

namespace {

Result<std::optional<PodDescription>> read_pod_description(const SysRoot& sys) {
  const auto text = TRY(sys.text(kPodDescription));
  if (!text) return std::optional<PodDescription>();
  return std::optional(TRY(parse_pod_description(*text)));
}

Result<PodNetwork> read_network(Kernel* kernel) {
  if (kernel == nullptr)
    return Error{Errc::unsupported, 0, "the interfaces of a pod cannot be read from a copy of its files"};
  return read_pod_network(*kernel);
}

// The address of a rail for a peer: IPv4 if it has one.
std::string address_of(const NcclRail& rail, const CheckedPod& pod) {
  const Gid* gid = rail.port.find(rail.gid_index);
  if (gid != nullptr) {
    const auto v4 = ipv4_of(gid->address);
    return v4 ? v4->text() : gid->address.text();
  }
  const DescribedInterface* attached = pod.attachment_of(rail.rail);
  return attached == nullptr || attached->addresses.empty() ? "ADDRESS" : attached->addresses.front().text();
}

std::vector<NcclRail> chosen_rails(const CheckedPod& pod) {
  // By the rails alone: variables that are wrong are another matter.
  return choose_rails(pod.own_rails(), NcclSettings());
}

// The checks of what the caller has to give are left out where it is not given.
std::vector<const PodChecks*> checks_of(const CheckedPod& pod) {
  std::vector<const PodChecks*> out = {&device_checks(), &rail_checks(),   &gpu_checks(),
                                       &nccl_checks(),   &memory_checks(), &routing_checks()};
  if (pod.nccl_log) out.push_back(&nccl_log_checks());
  return out;
}

PodChecks sorted(const std::vector<const PodChecks*>& lists) {
  PodChecks out;
  for (const PodChecks* checks : lists) out.insert(out.end(), checks->begin(), checks->end());
  std::sort(out.begin(), out.end(), [](const PodCheck& a, const PodCheck& b) {
    return std::string_view(a.id) < std::string_view(b.id);
  });
  return out;
}

std::vector<CheckReport> run(const PodChecks& checks, const CheckedPod& pod) {
  std::vector<CheckReport> out;
  for (const PodCheck& check : checks) out.push_back(run_check(check, pod));
  return out;
}

}  // namespace

PodChecks pod_checks() {
  return sorted({&device_checks(), &rail_checks(), &gpu_checks(), &nccl_checks(), &memory_checks(),
                 &routing_checks(), &nccl_log_checks(), &traffic_checks()});
}

std::vector<CheckReport> check_pod(const CheckedPod& pod) { return run(sorted(checks_of(pod)), pod); }

std::vector<CheckReport> check_traffic_of(const CheckedPod& pod) { return run(traffic_checks(), pod); }

CheckedPod read_pod(const SysRoot& sys, PodEnvironment environment, Kernel* kernel) {
  auto nccl = read_nccl_settings(sys, environment);
  return {sys,
          std::move(environment),
          read_pod_description(sys),
          read_rails(sys),
          read_network(kernel),
          std::move(nccl),
          std::nullopt};
}

std::vector<std::string> perftest_lines(const CheckedPod& pod) {
  std::vector<std::string> out;
  for (const NcclRail& rail : chosen_rails(pod)) {
    std::string line = "ib_write_bw -d " + rail.rail.name + " -i " + std::to_string(rail.port.number);
    if (rail.port.is_roce()) line += " -x " + std::to_string(rail.gid_index);
    if (rail.port.transport() == Transport::iwarp) line += " -R";  // the RDMA CM connects, nothing else can
    line += " --report_gbits";
    out.push_back(line);
    out.push_back(line + " " + address_of(rail, pod));
  }
  return out;
}

std::string nccl_line(const CheckedPod& pod) {
  if (!pod.nccl || !pod.rails) return {};
  return expected_line(choose_rails(*pod.rails, *pod.nccl));
}

std::string render_pod(const CheckedPod& pod, const std::vector<CheckReport>& reports,
                       const CheckLayout& layout) {
  std::string out = render_checks(reports, layout);
  const auto lines = perftest_lines(pod);
  if (!lines.empty())
    out += "\nto measure, in this pod, and then in another one with its own device and index:\n";
  for (const std::string& line : lines) out += "  " + escaped(line) + "\n";
  if (const std::string line = nccl_line(pod); !line.empty())
    out += "\nwith NCCL_DEBUG=INFO, NCCL prints:\n  " + escaped(line) + "\n";
  return out;
}

Json pod_json(const CheckedPod& pod, const std::vector<CheckReport>& reports) {
  const std::string line = nccl_line(pod);
  return Json::object()
      .set("schema_version", kPodReportVersion)
      .set("checks", checks_json(reports))
      .set("perftest", Json(perftest_lines(pod)))
      .set("nccl_line", line.empty() ? Json() : Json(line));
}

std::string pod_checks_document() {
  std::string out = "| id | name | ok when |\n|---|---|---|\n";
  for (const PodCheck& check : pod_checks())
    out += std::string("| ") + check.id + " | `" + check.name + "` | " + check.holds + " |\n";
  return out;
}

}  // namespace vfrail::pod

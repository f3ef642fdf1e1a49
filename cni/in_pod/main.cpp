// vfrail-check: whether RDMA will work in the pod that it runs in, and why not. See pod_report.h.
#include "cni/in_pod/pod_command_line.h"
#include "cni/in_pod/probe/memory_probe.h"
#include "cni/in_pod/probe/verbs_probe.h"
#include "cni/in_pod/traffic/verbs_traffic.h"

#include <cstdio>
#include <exception>
#include <string_view>

extern char** environ;

namespace {

using namespace vfrail;
using namespace vfrail::pod;

PodEnvironment read_environment() {
  PodEnvironment out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const size_t equals = text.find('=');
    if (equals != std::string_view::npos) out.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return out;
}

Probes probe(const CheckedPod& pod) {
  const auto limit = read_memory_limit(pod.sys);
  const uint64_t bytes = limit ? bytes_to_lock(*limit) : 0;
  const auto names = list_device_nodes(pod.sys);
  std::vector<std::string> verbs;
  for (const std::string& name : names ? *names : std::vector<std::string>()) {
    if (name.starts_with("uverbs")) verbs.push_back(name);
  }
  return {try_to_lock(bytes), open_nodes(pod.sys, verbs), probe_verbs(bytes)};
}

}  // namespace

int main(int count, char** arguments) {
  try {
    VerbsTraffic devices;
    return run_pod_command_line({arguments + 1, arguments + count}, {read_environment(), probe, devices});
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "vfrail-check: %s\n", failure.what());
    return 1;
  }
}

// Allocate and the scrape of the metrics: one call each, on the traced thread.
#include "common/netlink/netlink_kernel.h"
#include "plugin/device/allocate/prepare.h"
#include "plugin/observe/metrics/device_counters.h"
#include "plugin/observe/metrics/metrics.h"
#include "tests/inject/plugin_faults.h"
#include "tests/service/support.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <sstream>

namespace vfrail::test {
using namespace plugin;

namespace fs = std::filesystem;

namespace {

using Files = std::map<std::string, std::string>;  // name -> content

Files files_in(const std::vector<std::string>& folders) {
  Files out;
  for (const std::string& folder : folders) {
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(folder, none))
      out[entry.path().string()] = read_text(entry.path().string());
  }
  return out;
}

std::string text_of(const std::vector<ContainerEdits>& containers) {
  std::string out;
  for (const ContainerEdits& one : containers) {
    for (const auto& [name, value] : one.env) out += name + "=" + value + "\n";
    for (const DeviceNode& node : one.nodes) out += node.host_path + " " + node.permissions + "\n";
    for (const std::string& name : one.cdi_devices) out += name + "\n";
  }
  return out;
}

// Lines of the answer that are about devices, and how many devices it says it could not read.
struct Scrape {
  std::set<std::string> lines;
  std::string gaps;
};

Scrape parse_scrape(const std::string& text) {
  Scrape out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("vfrail_devices_without_counters{")) out.gaps += line + "\n";
    if (line.starts_with("vfrail_device_") || line.starts_with("vfrail_rdma_")) out.lines.insert(line);
  }
  return out;
}

}  // namespace

void allocate_with_faults(Faults& faults) {
  const IgbNode node;
  const Pool pool = node.pool();
  AllocatePlaces places = node.places();
  places.cdi_dir = node.cdi_dir();
  fs::create_directories(places.cdi_dir);  // as open_cdi_folder() does at start
  const std::vector<std::vector<std::string>> wanted{{"0000:21:10.2"}, {"0000:41:10.6"}};
  const auto files = [&] {
    return files_in({node.device_info_dir(), node.run_dir() + "/promised", node.cdi_dir()});
  };
  const auto expected = prepare(pool, wanted, places);
  if (!expected) return faults.complain("Allocate does not work at all: " + expected.error().text);
  const Files written = files();
  faults.run([&](long k, int error) {
    std::optional<Result<std::vector<ContainerEdits>>> answer;
    begin_fault(k, error);
    try {
      answer = prepare(pool, wanted, places);
    } catch (const std::exception&) {  // as Service does it
    }
    const Fault fault = end_fault();
    if (answer && *answer && text_of(**answer) != text_of(*expected))
      faults.complain("a container gets something else: " + text_of(**answer));
    for (const auto& [name, content] : files()) {
      const auto known = written.find(name);
      if (known != written.end() && known->second != content) faults.complain(name + " has another content");
      if (known == written.end() && name.ends_with(".json")) faults.complain(name + " is new");
    }
    const auto again = prepare(pool, wanted, places);
    if (!again || text_of(*again) != text_of(*expected))
      faults.complain("the next Allocate is not as before");
    const Files now = files();
    for (const auto& [name, content] : written) {
      if (!now.contains(name) || now.at(name) != content) faults.complain(name + " is not as before");
    }
    return fault;
  });
}

void scrape_with_faults(Faults& faults) {
  const IgbNode node;
  const auto pool = PublishedPool(node.pool());
  const auto kernel = NetlinkKernel::open_current();
  const auto scrape = [&] {
    const CounterSources sources{.sys = SysRoot(node.root()),
                                 .kernel = kernel ? kernel->get() : nullptr,
                                 .pods = [] { return PodNamespaces(); }};
    MetricsInput input;
    auto status = std::make_shared<NodeStatus>();
    status->resources.push_back({.pool = pool});
    input.status = status;
    input.devices = read_device_counters(sources, {pool});
    return parse_scrape(render_metrics(input));
  };
  const Scrape expected = scrape();
  faults.run([&](long k, int error) {
    std::optional<Scrape> answer;
    begin_fault(k, error);
    try {
      answer = scrape();
    } catch (const std::exception&) {  // as HttpServer does it
    }
    const Fault fault = end_fault();
    if (answer) {
      for (const std::string& line : answer->lines) {
        if (!expected.lines.contains(line)) faults.complain("not true: " + line);
      }
      if (answer->lines.size() < expected.lines.size() && answer->gaps == expected.gaps)
        faults.complain("series are missing, and it does not say so");
    }
    if (scrape().lines != expected.lines) faults.complain("the next scrape is not as before");
    return fault;
  });
}

}  // namespace vfrail::test

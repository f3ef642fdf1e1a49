// What a scrape of /metrics costs, in counts: system calls that name a file, and those of them that fail.
// Times are tests/bench.
#include "tests/kubelet/test_kubelet.h"
#include "tests/service/http_client.h"
#include "tests/service/program.h"
#include "tests/support/deadline.h"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <vector>

#include <catch2/catch.hpp>

namespace vfrail::test {
using namespace plugin;

namespace fs = std::filesystem;

namespace {

constexpr int kDevices = 8;

struct Cost {
  int opened = 0;  // calls that name a file
  int failed = 0;  // because it is not there
};

// Each scrape of the trace. Nothing else of the program runs meanwhile, or it runs in every one.
std::vector<Cost> read_costs(const std::string& trace) {
  static const std::regex names_file(R"(\b(openat|newfstatat|readlinkat|readlink|access)\()");
  std::vector<Cost> out;
  bool within = false;
  std::istringstream lines(read_text(trace));
  for (std::string line; std::getline(lines, line);) {
    if (line.find("GET /metrics") != std::string::npos) {
      out.emplace_back();
      within = true;
    } else if (line.find("HTTP/1.1 200 OK") != std::string::npos) {
      within = false;
    } else if (within && std::regex_search(line, names_file)) {
      ++out.back().opened;
      if (line.find("ENOENT") != std::string::npos) ++out.back().failed;
    }
  }
  return out;
}

// Eight VFs with their interfaces in the host.
class Scraped {
 public:
  Scraped() : kubelet_(node_.path("k")) {
    node_.fill();
    for (const auto& netdev : fs::directory_iterator(node_.root() + "/sys/class/net"))
      netdevs_.push_back(netdev.path().filename());
  }

  void write(const std::string& below, const std::string& text) const {
    const fs::path path = node_.root() + "/" + below;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
  }
  void write_traffic() const {
    std::string lines = "Inter-|   Receive |  Transmit\n face |bytes    packets errs\n";
    for (const std::string& netdev : netdevs_) lines += netdev + ": 100 1 0 0 0 0 0 0 200 2 0 0 0 0 0 0\n";
    write("proc/1/net/dev", lines.substr(0, lines.size() - 1));
  }
  std::vector<Cost> scrape(int times) {
    const auto address = *parse_listen_address("unix:" + node_.path("metrics.sock"));
    std::ofstream(node_.path("config.json"))
        << R"({"resourceList":[{"resourcePrefix":"nvidia.com",)"
        << R"("resourceName":"hostdev","selectors":{"drivers":["igbvf"]}}]})";
    const std::string trace = node_.path("trace");
    // The tracer is not its parent, but a process beside it (-D).
    Program serve(
        node_,
        {"serve", "--root", node_.root(), "--config-file", node_.path("config.json"), "--kubelet-root",
         node_.path("k"), "--device-info-dir", node_.device_info_dir(), "--run-dir", node_.run_dir(),
         "--rescan-interval", "3600", "--metrics-address", address.text()},
        "serve.log",
        {"/usr/bin/strace", "-D", "-f", "-qq", "-e", "trace=all", "-o", trace, program_path("vfrail")});
    if (!kubelet_.wait_for("nvidia.com/hostdev", kDevices, kDeadline))
      throw std::runtime_error("not registered: " + serve.log());
    for (int i = 0; i < times; ++i) body_ = get(address, "/metrics").body;
    serve.signal(SIGTERM);
    serve.wait(kDeadline);
    return read_costs(trace);
  }
  const std::string& body() const { return body_; }

 private:
  const IgbNode node_;
  TestKubelet kubelet_;
  std::vector<std::string> netdevs_;
  std::string body_;
};

// Of the process itself, of kubelet's socket, of the namespaces of pods, and the one file with the traffic of
// all interfaces.
constexpr int kOfScrape = 16;

// A scrape that has nothing to find out any more: the least of some, because the daemon may read the node
// beside one.
Cost settled(const std::vector<Cost>& costs) {
  return *std::min_element(costs.begin() + 2, costs.end(),
                           [](const Cost& a, const Cost& b) { return a.opened < b.opened; });
}

}  // namespace

TEST_CASE("a scrape names one file for each device, and does not ask again for what is not there") {
  Scraped node;
  node.write_traffic();
  const auto costs = node.scrape(6);
  REQUIRE(costs.size() == 6);
  const Cost last = settled(costs);
  CAPTURE(costs[0].opened, costs[1].opened, costs[1].failed, last.opened, last.failed);
  CHECK(node.body().find("vfrail_device_transmit_bytes_total") != std::string::npos);
  CHECK(costs[0].opened > last.opened);
  CHECK(last.opened <= kDevices + kOfScrape);
  CHECK(last.failed <= 2);
}

TEST_CASE("a scrape opens each RDMA counter that has a number, and no other") {
  Scraped node;
  node.write_traffic();
  const std::string port = "sys/bus/pci/devices/0000:21:10.0/infiniband/mlx5_0/ports/1/";
  for (const char* counter :
       {"hw_counters/out_of_sequence", "hw_counters/lifespan", "counters/port_xmit_data"})
    node.write(port + counter, "7");
  node.write(port + "counters/port_rcv_data", "N/A (no PMA)");
  const auto costs = node.scrape(6);
  REQUIRE(costs.size() == 6);
  const Cost last = settled(costs);
  CHECK(node.body().find("counter=\"out_of_sequence\"") != std::string::npos);
  // The port's folder and two counters.
  CAPTURE(costs[0].opened, last.opened);
  CHECK(last.opened <= kDevices + kOfScrape + 3);
  CHECK(last.failed <= 2);
}

}  // namespace vfrail::test

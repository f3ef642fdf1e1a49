// SimulatedCluster: what an API server answers of many nodes with vfrail: nodes, its pods, their pages, and
// pods of a test of the fabric, which measure what the caller says. Keeps no object but those of a test.
#pragma once

#include "tests/kube/api_server.h"

#include <functional>
#include <map>
#include <mutex>
#include <string>

namespace vfrail::kube {

struct SimulatedNodes {
  size_t count = 3;
  size_t devices = 8;  // of each node
  // Gb/s from one node to another, of rails whose ports have 400. By default 385.
  std::function<double(size_t from, size_t to)> rate = [](size_t, size_t) { return 385.0; };
  // Microseconds, as vfrail-check measures them; 0: none, as an earlier one.
  std::function<double(size_t from, size_t to)> round_trip = [](size_t, size_t) { return 2.1; };
  std::string page = {};         // of each node's vfrail; empty: one made of the above
  std::string image_error = {};  // why no pod of a test runs; empty: they do
};

class SimulatedCluster {
 public:
  explicit SimulatedCluster(SimulatedNodes nodes);
  ApiServer& server() { return server_; }
  // Pods of tests that are there now.
  size_t pods() const;
  // What was asked, and the bytes of the answers.
  uint64_t requests() const { return requests_; }
  uint64_t bytes() const { return bytes_; }

 private:
  void serve(const ServedRequest& request, ServedAnswer& answer);
  void reply(ServedAnswer& answer, unsigned status, const std::string& body);
  std::string list(const std::string& target);
  std::string node(size_t index) const;
  std::string daemon_pod(size_t index) const;
  std::string test_pod(const std::string& name, const std::string& text) const;
  std::string page(size_t index) const;
  std::string metrics();
  std::string measurement(const std::string& target) const;

  const SimulatedNodes nodes_;
  mutable std::mutex mutex_;
  std::map<std::string, std::string> test_pods_;  // by name, as they were created
  std::atomic<uint64_t> requests_{0};
  std::atomic<uint64_t> bytes_{0};
  std::atomic<uint64_t> questions_{0};  // for metrics
  ApiServer server_;
};

}  // namespace vfrail::kube

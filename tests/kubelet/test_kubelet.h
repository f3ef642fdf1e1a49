// TestKubelet: the device-manager part of kubelet, for tests, the lab and the demo. Serves Registration on
// device-plugins/kubelet.sock, finds plugins in plugins_registry as the plugin watcher does, holds their
// ListAndWatch streams, counts devices, allocates, reports which pod has what. Where kubelet's behaviour
// matters it does what kubelet does: it connects back from within Register, and a restart removes every
// socket in device-plugins.
#pragma once

#include "common/json.h"
#include "plugin/service/kubelet/grpc_library.h"
#include "plugin/service/kubelet/kubelet.h"
#include "tests/kubelet/plugin_client.h"
#include "tests/kubelet/pod_resources_server.h"

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace vfrail::test {
using namespace plugin;

struct KubeletDevice {
  std::string id;
  std::string health;
  std::vector<int64_t> numa;
};

struct KubeletResource {
  std::vector<KubeletDevice> devices;  // in the order in which the plugin sent them
  std::set<std::string> allocated;
  bool connected = false;  // the stream is open; if not, no device counts as healthy
  bool prefers = false;    // the plugin said that GetPreferredAllocation is there
  int registrations = 0;   // since the test kubelet was made, restarts included
  int lists = 0;           // messages on the streams

  size_t capacity() const { return devices.size(); }
  size_t allocatable() const;
};

using KubeletNode = std::map<std::string, KubeletResource>;
Json node_json(const KubeletNode& node);

class TestKubelet {
 public:
  // Makes the two folders below `root`. `on_event` gets a line for each thing that happens, on any thread.
  explicit TestKubelet(std::string root, std::function<void(const std::string&)> on_event = {});
  TestKubelet(const TestKubelet&) = delete;
  TestKubelet& operator=(const TestKubelet&) = delete;
  ~TestKubelet();

  KubeletNode node() const;
  // False if the deadline passes before `wanted` holds.
  bool wait(std::chrono::milliseconds at_most, const std::function<bool(const KubeletNode&)>& wanted) const;
  // Waits for N healthy devices of a connected resource.
  bool wait_for(const std::string& resource, size_t devices, std::chrono::milliseconds at_most) const;

  using Containers = std::vector<std::vector<std::string>>;
  grpc::Status allocate(const std::string& resource, const Containers& containers,
                        v1beta1::AllocateResponse& response);
  // Healthy devices that are not allocated: those that the plugin prefers, if it registered that option and
  // there is a choice, else the first. Fewer than `count` if there are no more.
  std::vector<std::string> choose(const std::string& resource, size_t count) const;
  // Whose container has the devices, for pod-resources; without it a pod named after the device has it.
  void give(const std::string& resource, const std::vector<std::string>& ids, const PodContainer& to);
  void free(const std::vector<std::string>& ids);
  // Answers also while the kubelet restarts; changes with allocate(), give() and free().
  PodResourcesServer& pod_resources() { return pod_resources_; }
  // A call to the plugin beside the streams; null if the resource is not connected.
  std::shared_ptr<PluginClient> client(const std::string& resource) const;

  // As `systemctl restart kubelet`: forgets the plugins, keeps what is allocated.
  void restart();
  void stop();  // serves nothing, holds no stream; sockets stay
  void start();
  // The next registrations are refused, in either way of registering.
  void refuse(int times);
  // Answers every registration so much later.
  void slow(std::chrono::milliseconds by);
  void drop_streams();

 private:
  class Registry;

  void scan_loop();
  void scan_registry();
  void handshake(const std::string& socket);
  grpc::Status register_plugin(const v1beta1::RegisterRequest& request);
  struct Registered {
    std::string how;
    bool prefers = false;
  };
  void adopt(const std::string& resource, std::unique_ptr<PluginClient> client, const Registered& registered);
  void take_list(const std::string& resource, uint64_t number, const v1beta1::ListAndWatchResponse& list);
  void take_end(const std::string& resource, uint64_t number, const grpc::Status& status);
  void put_preferred_first(const std::string& resource, size_t count, std::vector<std::string>& unused) const;
  bool refuses();
  void dawdle() const;
  void tell_pods();
  void say(const std::string& line) const;

  struct Plugin {
    std::shared_ptr<PluginClient> client;
    uint64_t number = 0;  // distinguishes a client from its successor
  };

  const GrpcLibrary grpc_;
  const std::string root_;
  const std::function<void(const std::string&)> on_event_;
  PodResourcesServer pod_resources_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  KubeletNode node_;
  DevicesInUse owners_;
  std::map<std::string, Plugin> plugins_;
  std::map<std::string, FileIdentity> seen_;  // sockets in plugins_registry, by path
  uint64_t next_number_ = 1;
  int refusals_ = 0;
  std::chrono::milliseconds slow_by_{0};
  bool running_ = false;
  std::unique_ptr<Registry> registry_;
  std::unique_ptr<grpc::Server> server_;
  UniqueFd wake_;
  std::thread scanner_;
};

}  // namespace vfrail::test

#include "tests/kubelet/test_kubelet.h"

#include "common/files.h"

#include <algorithm>
#include <filesystem>
#include <poll.h>
#include <stdexcept>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace vfrail::test {
using namespace plugin;

namespace fs = std::filesystem;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds kConnectTimeout{10'000};  // as in kubelet (dialTimeoutDuration of its plugin watcher)

}  // namespace

class TestKubelet::Registry final : public v1beta1::Registration::Service {
 public:
  explicit Registry(TestKubelet& kubelet) : kubelet_(kubelet) {}
  grpc::Status Register(grpc::ServerContext*, const v1beta1::RegisterRequest* request,
                        v1beta1::Empty*) override {
    return kubelet_.register_plugin(*request);
  }

 private:
  TestKubelet& kubelet_;
};

size_t KubeletResource::allocatable() const {
  return static_cast<size_t>(std::count_if(devices.begin(), devices.end(),
                                           [](const auto& device) { return device.health == "Healthy"; }));
}

Json node_json(const KubeletNode& node) {
  Json out = Json::object();
  for (const auto& [name, resource] : node) {
    Json devices = Json::array();
    for (const KubeletDevice& device : resource.devices) {
      Json numa = Json::array();
      for (const int64_t cell : device.numa) numa.push(cell);
      Json one;
      one.set("id", device.id).set("health", device.health).set("numa", std::move(numa));
      devices.push(std::move(one));
    }
    Json allocated = Json::array();
    for (const std::string& id : resource.allocated) allocated.push(id);
    Json one;
    one.set("capacity", static_cast<int64_t>(resource.capacity()));
    one.set("allocatable", static_cast<int64_t>(resource.allocatable()));
    one.set("devices", std::move(devices)).set("allocated", std::move(allocated));
    out.set(name, std::move(one));
  }
  return out;
}

TestKubelet::TestKubelet(std::string root, std::function<void(const std::string&)> on_event)
    : root_(std::move(root)), on_event_(std::move(on_event)), pod_resources_(root_) {
  for (const Registration way : {Registration::watcher, Registration::legacy}) {
    if (const auto made = make_folder(socket_folder(root_, way), 0755); !made) {
      throw std::runtime_error(made.error().text);
    }
  }
  start();
}

TestKubelet::~TestKubelet() { stop(); }

void TestKubelet::start() {
  const std::string socket = kubelet_socket(root_);
  registry_ = std::make_unique<Registry>(*this);
  {
    const std::lock_guard lock(mutex_);
    running_ = true;
  }
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + socket, grpc::InsecureServerCredentials());
  builder.RegisterService(registry_.get());
  server_ = builder.BuildAndStart();
  if (!server_) throw std::runtime_error("test kubelet: cannot listen on " + socket);
  wake_ = UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  scanner_ = std::thread([this] { scan_loop(); });
}

void TestKubelet::stop() {
  {
    const std::lock_guard lock(mutex_);
    running_ = false;
  }
  if (scanner_.joinable()) {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
    scanner_.join();
  }
  if (server_) server_->Shutdown(std::chrono::system_clock::now());
  server_.reset();
  registry_.reset();
  std::map<std::string, Plugin> plugins;
  {
    const std::lock_guard lock(mutex_);
    plugins.swap(plugins_);
    seen_.clear();
    for (auto& [name, resource] : node_) {
      resource.devices.clear();
      resource.connected = false;
    }
  }
  for (auto& [name, plugin] : plugins) plugin.client->drop();
  changed_.notify_all();
}

void TestKubelet::restart() {
  say("kubelet restarts");
  stop();
  // server.go of the device manager: what is left in the folder belongs to plugins of the last life.
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(socket_folder(root_, Registration::legacy), failed)) {
    if (entry.is_socket(failed)) fs::remove(entry.path(), failed);
  }
  start();
}

void TestKubelet::scan_loop() {
  auto watch = FolderWatch::start(socket_folder(root_, Registration::watcher));
  if (!watch) throw std::runtime_error(watch.error().text);
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      if (!running_) return;
    }
    scan_registry();
    pollfd fds[] = {{watch->fd(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
    ::poll(fds, std::size(fds), -1);
    watch->renew();
  }
}

void TestKubelet::scan_registry() {
  std::map<std::string, FileIdentity> found;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(socket_folder(root_, Registration::watcher), failed)) {
    const std::string name = entry.path().filename();
    if (name[0] != '.' && entry.is_socket(failed)) found[entry.path()] = identify(entry.path());
  }
  std::map<std::string, FileIdentity> before;
  {
    const std::lock_guard lock(mutex_);
    before = std::exchange(seen_, found);
  }
  for (const auto& [path, identity] : found) {
    const auto known = before.find(path);
    if (known == before.end() || !(known->second == identity)) handshake(path);
  }
}

void TestKubelet::handshake(const std::string& socket) {
  dawdle();
  auto asked = PluginClient::connect(socket, kConnectTimeout);
  if (!asked) return say("plugin watcher: " + asked.error().text);
  const auto info = (*asked)->info();
  if (!info) return say("plugin watcher: GetInfo on " + socket + ": " + info.error().text);
  const auto& versions = info->supported_versions();
  std::string wrong;
  bool prefers = false;
  if (info->type() != "DevicePlugin") wrong = "type " + info->type();
  if (std::find(versions.begin(), versions.end(), "v1beta1") == versions.end())
    wrong = "no supported version";
  if (refuses()) wrong = "refused by the test";
  auto plugin = PluginClient::connect(info->endpoint(), kConnectTimeout);
  if (!plugin) wrong = plugin.error().text;
  if (wrong.empty()) {
    const auto options = (*plugin)->options();
    if (!options) wrong = options.error().text;
    prefers = options && options->get_preferred_allocation_available();
  }
  (void)(*asked)->notify(wrong);
  if (!wrong.empty()) return say("refused " + info->name() + ": " + wrong);
  adopt(info->name(), *std::move(plugin), {"plugin watcher", prefers});
}

grpc::Status TestKubelet::register_plugin(const v1beta1::RegisterRequest& request) {
  const auto refuse = [&](const std::string& why) {
    say("refused " + request.resource_name() + ": " + why);
    return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, why);
  };
  dawdle();
  if (request.version() != "v1beta1") return refuse("unsupported version " + request.version());
  if (request.endpoint().find('/') != std::string::npos) return refuse("the endpoint is not a file name");
  if (request.resource_name().find('/') == std::string::npos)
    return refuse("the resource name has no prefix");
  if (refuses()) return refuse("refused by the test");
  auto client = PluginClient::connect(socket_folder(root_, Registration::legacy) + "/" + request.endpoint(),
                                      kConnectTimeout);
  if (!client) return refuse(client.error().text);
  adopt(request.resource_name(), *std::move(client),
        {"Register", request.options().get_preferred_allocation_available()});
  return grpc::Status::OK;
}

void TestKubelet::adopt(const std::string& name, std::unique_ptr<PluginClient> client,
                        const Registered& registered) {
  say("registered " + name + " via " + registered.how);
  Plugin before;
  {
    const std::lock_guard lock(mutex_);
    if (!running_) return;
    const uint64_t number = next_number_++;
    before = std::exchange(plugins_[name], Plugin{std::move(client), number});
    KubeletResource& resource = node_[name];
    ++resource.registrations;
    resource.connected = true;
    resource.prefers = registered.prefers;
    // The thread starts under the lock, so that its first list finds the plugin in its place.
    plugins_[name].client->watch(
        [this, name, number](const auto& list) { take_list(name, number, list); },
        [this, name, number](const auto& status) { take_end(name, number, status); });
  }
  changed_.notify_all();
  if (before.client) before.client->drop();
}

void TestKubelet::take_list(const std::string& name, uint64_t number,
                            const v1beta1::ListAndWatchResponse& list) {
  {
    const std::lock_guard lock(mutex_);
    if (plugins_[name].number != number) return;
    KubeletResource& resource = node_[name];
    ++resource.lists;
    resource.devices.clear();
    for (const auto& device : list.devices()) {
      KubeletDevice one{device.id(), device.health(), {}};
      for (const auto& cell : device.topology().nodes()) one.numa.push_back(cell.id());
      resource.devices.push_back(std::move(one));
    }
  }
  say(name + ": " + std::to_string(list.devices_size()) + " devices");
  changed_.notify_all();
}

void TestKubelet::take_end(const std::string& name, uint64_t number, const grpc::Status& status) {
  {
    const std::lock_guard lock(mutex_);
    const auto at = plugins_.find(name);
    if (at == plugins_.end() || at->second.number != number) return;
    KubeletResource& resource = node_[name];
    resource.connected = false;
    for (KubeletDevice& device : resource.devices) device.health = "Unhealthy";
  }
  say(name + ": the stream ended (" + status.error_message() + ")");
  changed_.notify_all();
}

bool TestKubelet::refuses() {
  const std::lock_guard lock(mutex_);
  if (refusals_ == 0) return false;
  --refusals_;
  return true;
}

void TestKubelet::say(const std::string& line) const {
  if (on_event_) on_event_(line);
}

KubeletNode TestKubelet::node() const {
  const std::lock_guard lock(mutex_);
  return node_;
}

bool TestKubelet::wait(milliseconds at_most, const std::function<bool(const KubeletNode&)>& wanted) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, at_most, [&] { return wanted(node_); });
}

bool TestKubelet::wait_for(const std::string& resource, size_t devices, milliseconds at_most) const {
  return wait(at_most, [&](const KubeletNode& node) {
    const auto at = node.find(resource);
    return at != node.end() && at->second.connected && at->second.lists > 0 &&
           at->second.allocatable() == devices;
  });
}

grpc::Status TestKubelet::allocate(const std::string& name, const Containers& containers,
                                   v1beta1::AllocateResponse& response) {
  const auto plugin = client(name);
  if (!plugin) return {grpc::StatusCode::UNAVAILABLE, "no plugin serves " + name};
  v1beta1::AllocateRequest request;
  for (const auto& ids : containers) {
    auto& container = *request.add_container_requests();
    for (const std::string& id : ids) container.add_devices_ids(id);
  }
  const grpc::Status status = plugin->allocate(request, response);
  if (!status.ok()) return status;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& ids : containers) node_[name].allocated.insert(ids.begin(), ids.end());
  }
  tell_pods();
  changed_.notify_all();
  return status;
}

std::vector<std::string> TestKubelet::choose(const std::string& name, size_t count) const {
  std::vector<std::string> unused;
  bool asks = false;
  {
    const std::lock_guard lock(mutex_);
    const auto at = node_.find(name);
    if (at == node_.end()) return unused;
    for (const KubeletDevice& device : at->second.devices) {
      if (device.health == "Healthy" && at->second.allocated.count(device.id) == 0)
        unused.push_back(device.id);
    }
    asks = at->second.prefers && count > 0 && count < unused.size();
  }
  if (asks) put_preferred_first(name, count, unused);
  unused.resize(std::min(unused.size(), count));
  return unused;
}

// As kubelet takes the answer: what is not available is passed over, what is missing is made up for.
void TestKubelet::put_preferred_first(const std::string& name, size_t count,
                                      std::vector<std::string>& unused) const {
  const auto plugin = client(name);
  if (!plugin) return;
  v1beta1::PreferredAllocationRequest request;
  auto& container = *request.add_container_requests();
  container.mutable_available_deviceids()->Add(unused.begin(), unused.end());
  container.set_allocation_size(static_cast<int32_t>(count));
  v1beta1::PreferredAllocationResponse response;
  if (!plugin->preferred(request, response).ok() || response.container_responses_size() != 1) return;
  const auto& ids = response.container_responses(0).deviceids();
  std::stable_partition(unused.begin(), unused.end(), [&](const std::string& id) {
    return std::find(ids.begin(), ids.end(), id) != ids.end();
  });
}

void TestKubelet::give(const std::string& name, const std::vector<std::string>& ids, const PodContainer& to) {
  {
    const std::lock_guard lock(mutex_);
    for (const std::string& id : ids) {
      node_[name].allocated.insert(id);
      owners_.resources[name][id] = to;
    }
  }
  tell_pods();
  changed_.notify_all();
}

void TestKubelet::free(const std::vector<std::string>& ids) {
  {
    const std::lock_guard lock(mutex_);
    for (auto& [name, resource] : node_) {
      for (const std::string& id : ids) {
        resource.allocated.erase(id);
        owners_.resources[name].erase(id);
      }
    }
  }
  tell_pods();
  changed_.notify_all();
}

void TestKubelet::tell_pods() {
  const std::lock_guard lock(mutex_);
  DevicesInUse out;
  for (const auto& [name, resource] : node_) {
    for (const std::string& id : resource.allocated) {
      const PodContainer* owner = owners_.find(name, id);
      out.resources[name][id] = owner != nullptr ? *owner : PodContainer{"default", "pod-" + id, "main"};
    }
  }
  pod_resources_.set(std::move(out));
}

std::shared_ptr<PluginClient> TestKubelet::client(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto at = plugins_.find(name);
  const auto known = node_.find(name);
  const bool connected = known != node_.end() && known->second.connected;
  return at == plugins_.end() || !connected ? nullptr : at->second.client;
}

void TestKubelet::refuse(int times) {
  const std::lock_guard lock(mutex_);
  refusals_ = times;
}

void TestKubelet::slow(milliseconds by) {
  const std::lock_guard lock(mutex_);
  slow_by_ = by;
}

void TestKubelet::dawdle() const {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, slow_by_, [this] { return !running_; });
}

void TestKubelet::drop_streams() {
  std::map<std::string, Plugin> plugins;
  {
    const std::lock_guard lock(mutex_);
    plugins = plugins_;
  }
  for (auto& [name, plugin] : plugins) plugin.client->drop();
}

}  // namespace vfrail::test

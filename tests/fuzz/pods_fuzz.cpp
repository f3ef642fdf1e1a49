// Target: what kubelet answers about the devices of pods. Names in it are those of anybody who may create a
// pod, and devices those of every plugin of the node.
#include "common/text.h"
#include "plugin/device/advertise/keep_in_use.h"
#include "plugin/device/advertise/orphans.h"
#include "plugin/observe/metrics/metrics_text.h"
#include "plugin/service/kubelet/pod_devices.h"
#include "tests/fuzz/checks.h"

#include <algorithm>
#include <memory>
#include <random>
#include <set>

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

using namespace vfrail;
using namespace vfrail::plugin;
using namespace vfrail::fuzz;

namespace {

constexpr const char* kResource = "nvidia.com/hostdev";
constexpr const char* kDevices[] = {"0000:03:00.2", "0000:03:00.3", "mlx5_core.sf.4"};

DeviceFacts make_function(const char* id) {
  DeviceFacts out;
  out.id = *DeviceId::parse(id);
  if (const auto address = out.id.pci()) {
    out.address = *address;
  } else {
    out.kind = FunctionKind::sub_function;
  }
  out.driver = Driver("mlx5_core");  // and no interface: it is away
  return out;
}

Pools make_pools() {
  Pool pool;
  pool.config.prefix = "nvidia.com";
  pool.config.name = "hostdev";
  for (const char* id : kDevices) {
    PoolDevice device;
    device.facts = make_function(id);
    pool.devices.push_back(std::move(device));
  }
  Pools out;
  out.pools.push_back(std::move(pool));
  return out;
}

void check_devices(const v1::ListPodResourcesResponse& answer, const DevicesInUse& all) {
  std::set<std::pair<std::string, std::string>> seen;
  for (const v1::PodResources& pod : answer.pod_resources()) {
    for (const v1::ContainerResources& container : pod.containers()) {
      for (const v1::ContainerDevices& devices : container.devices()) {
        // kubelet registers no resource with a blank in its name, by which claims are known.
        if (is_claim(devices.resource_name())) continue;
        for (const std::string& id : devices.device_ids()) {
          if (!seen.emplace(devices.resource_name(), id).second) continue;
          const PodContainer* by = all.find(devices.resource_name(), id);
          const PodContainer expected{pod.namespace_(), pod.name(), container.name()};
          MUST(by != nullptr && *by == expected);
        }
      }
    }
  }
  size_t count = 0;
  for (const auto& [resource, devices] : all.resources) {
    if (!is_claim(resource)) count += all.count(resource);
  }
  MUST(count == seen.size());
}

// kubelet is shown each device once, whatever it has answered.
void check_pools(const DevicesInUse& in_use) {
  static const Pools kPools = make_pools();
  Pools pools = kPools;
  keep_in_use(pools, in_use);
  std::set<std::string> ids;
  for (const PoolDevice& device : pools.pools[0].devices) {
    MUST(is_file_name(device.id()) && DeviceId::parse(device.id()));
    MUST(ids.insert(device.id()).second);
    MUST(device.fault.empty() == (kPools.pools[0].find(device.id()) != nullptr));
  }
  for (const char* id : kDevices) MUST(ids.contains(id));
}

void check_orphaned(const DevicesInUse& in_use) {
  static const std::vector<PublishedPool> kPublished = {PublishedPool(make_pools().pools[0])};
  for (const auto& [id, why] : find_orphaned(kPublished, in_use, {{kDevices[0], {"c1", "net1"}}})) {
    MUST(!why.empty());
    for (const auto& [resource, devices] : in_use.resources) MUST(!devices.contains(id));
  }
}

// A sample is one line, whatever a pod is called.
void check_metrics(const DevicesInUse& in_use) {
  MetricsText text;
  text.gauge("vfrail_device", "h");
  size_t samples = 0;
  for (const auto& [resource, devices] : in_use.resources) {
    for (const auto& [id, by] : devices) {
      text.sample({{"resource", resource}, {"pod", by.pod}, {"container", by.container}}, uint64_t{1});
      ++samples;
    }
  }
  const std::string out = std::move(text).take();
  MUST(static_cast<size_t>(std::count(out.begin(), out.end(), '\n')) == samples + 2);
  MUST(is_utf8(out));
}

// Changes one message of the answer, or one of its texts.
class Mutation {
 public:
  explicit Mutation(uint32_t seed) : random_(seed) {}

  void mutate(v1::ListPodResourcesResponse& answer) {
    v1::PodResources& pod = any(*answer.mutable_pod_resources());
    v1::ContainerResources& container = any(*pod.mutable_containers());
    v1::ContainerDevices& devices = any(*container.mutable_devices());
    switch (random_() % 8) {
      case 0:
        return text(*pod.mutable_name());
      case 1:
        return text(*pod.mutable_namespace_());
      case 2:
        return text(*container.mutable_name());
      case 3:
        return remove(*answer.mutable_pod_resources());
      case 4:
        return remove(*devices.mutable_device_ids());
      case 5:
        devices.set_resource_name(kResource);
        return;
      case 6:
        devices.add_device_ids(kDevices[random_() % std::size(kDevices)]);
        return;
      default:
        if (devices.device_ids().empty()) return text(*devices.mutable_resource_name());
        return text(any(*devices.mutable_device_ids()));
    }
  }

 private:
  // One of them; sometimes, and of none always, a new one.
  template <class Item>
  Item& any(google::protobuf::RepeatedPtrField<Item>& list) {
    if (list.empty() || random_() % 8 == 0) return *list.Add();
    return *list.Mutable(static_cast<int>(random_() % static_cast<unsigned>(list.size())));
  }
  template <class List>
  void remove(List& list) {
    if (!list.empty())
      list.DeleteSubrange(static_cast<int>(random_() % static_cast<unsigned>(list.size())), 1);
  }
  void text(std::string& text) {
    const size_t size = text.size();
    text.resize(size + 8);
    text.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(text.data()), size, text.size()));
    text = well_formed(text);  // Protobuf takes nothing else for a string
  }

  std::minstd_rand random_;
};

}  // namespace

// Protobuf says of each text that is no UTF-8 that it has refused it.
extern "C" int LLVMFuzzerInitialize(int*, char***) {
  google::protobuf::SetLogHandler(nullptr);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed) {
  v1::ListPodResourcesResponse answer;
  if (seed % 16 == 0 || !answer.ParseFromArray(data, static_cast<int>(size)))
    return LLVMFuzzerMutate(data, size, max_size);
  Mutation mutation(seed);
  for (unsigned i = 0; i <= seed % 4; ++i) mutation.mutate(answer);
  if (answer.ByteSizeLong() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  answer.SerializeToArray(data, static_cast<int>(max_size));
  return answer.ByteSizeLong();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  v1::ListPodResourcesResponse answer;
  if (!answer.ParseFromArray(data, static_cast<int>(size))) return 0;
  const auto all = read_devices_in_use(answer, {});
  const auto ours = read_devices_in_use(answer, {kResource});
  if (!all || !ours) return 0;
  check_devices(answer, *all);
  MUST(ours->resources.size() <= 1 && ours->count(kResource) == all->count(kResource));
  check_pools(*ours);
  check_orphaned(*all);
  check_metrics(*all);
  return 0;
}

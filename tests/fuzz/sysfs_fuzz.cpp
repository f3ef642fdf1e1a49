// Target: what the files of a node say: sysfs and the kernel's tables of routes. Names in them are given by
// pods and neighbours, numbers by drivers and firmware. An input is what differs from the node below, a line
// each, as fake_sys_root.h has it.
#include "cni/node/device.h"
#include "common/text.h"
#include "plugin/admin/report/report.h"
#include "plugin/device/config/formats/parse_config.h"
#include "plugin/device/inventory/host_network.h"
#include "plugin/device/inventory/inventory.h"
#include "plugin/device/match/pools.h"
#include "tests/fuzz/checks.h"
#include "tests/fuzz/fake_sys_root.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <random>
#include <set>

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

using namespace vfrail;
using namespace vfrail::cni;
using namespace vfrail::plugin;
using namespace vfrail::fuzz;

namespace {

// A PF with two VFs, the second in a pod; a sub-function, an accelerator, a GPU, vDPA, a bond and a VLAN.
constexpr std::string_view kNode = R"(
sys/bus/pci/devices/0000:03:00.0 -> ../../../devices/pci0000:00/0000:00:02.0/0000:03:00.0
sys/bus/pci/devices/0000:03:00.0/uevent = DRIVER=mlx5_core\nPCI_CLASS=20000\nPCI_ID=15B3:101D\nPCI_SUBSYS_ID=15B3:0008
sys/bus/pci/devices/0000:03:00.0/driver -> ../../../../bus/pci/drivers/mlx5_core
sys/bus/pci/devices/0000:03:00.0/numa_node = 0
sys/bus/pci/devices/0000:03:00.0/acpi_index = 5
sys/bus/pci/devices/0000:03:00.0/sriov_totalvfs = 8
sys/bus/pci/devices/0000:03:00.0/sriov_numvfs = 2
sys/bus/pci/devices/0000:03:00.0/virtfn0 -> ../0000:03:00.2
sys/bus/pci/devices/0000:03:00.0/virtfn1 -> ../0000:03:00.3
sys/bus/pci/devices/0000:03:00.0/net/eth0/ifindex = 10
sys/bus/pci/devices/0000:03:00.0/net/eth0/address = 02:00:00:00:00:00
sys/bus/pci/devices/0000:03:00.0/net/eth0/type = 1
sys/bus/pci/devices/0000:03:00.0/net/eth0/mtu = 1500
sys/bus/pci/devices/0000:03:00.0/net/eth0/operstate = up
sys/bus/pci/devices/0000:03:00.0/net/eth0/carrier = 1
sys/bus/pci/devices/0000:03:00.0/net/pf0vf0/type = 1
sys/bus/pci/devices/0000:03:00.0/infiniband/mlx5_0/node_guid = b859:9f03:00a8:1c2e
sys/bus/pci/devices/0000:03:00.0/infiniband/mlx5_0/ports/1/state = 4: ACTIVE
sys/bus/pci/devices/0000:03:00.0/infiniband/mlx5_0/ports/1/phys_state = 5: LinkUp
sys/bus/pci/devices/0000:03:00.0/infiniband/mlx5_0/ports/1/link_layer = Ethernet
sys/bus/pci/devices/0000:03:00.0/infiniband_verbs/uverbs0/ibdev = mlx5_0
sys/bus/pci/devices/0000:03:00.0/infiniband_mad/umad0/ibdev = mlx5_0
sys/bus/pci/devices/0000:03:00.0/infiniband_mad/umad0/port = 1
sys/bus/pci/devices/0000:03:00.0/iommu_group -> ../../../../kernel/iommu_groups/30
sys/bus/pci/devices/0000:03:00.2 -> ../../../devices/pci0000:00/0000:00:02.0/0000:03:00.2
sys/bus/pci/devices/0000:03:00.2/uevent = PCI_CLASS=20700\nPCI_ID=15B3:101E\nPCI_SUBSYS_ID=15B3:0008
sys/bus/pci/devices/0000:03:00.2/driver -> ../../../../bus/pci/drivers/mlx5_core
sys/bus/pci/devices/0000:03:00.2/physfn -> ../0000:03:00.0
sys/bus/pci/devices/0000:03:00.2/numa_node = -1
sys/bus/pci/devices/0000:03:00.2/net/ib0/type = 32
sys/bus/pci/devices/0000:03:00.2/net/ib0/dev_port = 0
sys/bus/pci/devices/0000:03:00.2/infiniband/mlx5_1/node_guid = 0000:0000:0000:0000
sys/bus/pci/devices/0000:03:00.2/infiniband/mlx5_1/ports/1/state = 1: DOWN
sys/bus/pci/devices/0000:03:00.2/infiniband/mlx5_1/ports/1/link_layer = InfiniBand
sys/bus/pci/devices/0000:03:00.2/infiniband/mlx5_1/ports/1/pkeys/0 = 0x8001
sys/bus/pci/devices/0000:03:00.2/infiniband_verbs/uverbs1/ibdev = mlx5_1
sys/bus/pci/devices/0000:03:00.3 -> ../../../devices/pci0000:00/0000:00:02.0/0000:03:00.3
sys/bus/pci/devices/0000:03:00.3/uevent = PCI_CLASS=20000\nPCI_ID=15B3:101E
sys/bus/pci/devices/0000:03:00.3/driver -> ../../../../bus/pci/drivers/mlx5_core
sys/bus/pci/devices/0000:03:00.3/physfn -> ../0000:03:00.0
sys/bus/pci/devices/0000:03:00.3/infiniband_verbs/uverbs2/ibdev = mlx5_2
sys/bus/pci/devices/0000:04:00.0/uevent = PCI_CLASS=120000\nPCI_ID=8086:0B25
sys/bus/pci/devices/0000:04:00.0/driver -> ../../../../bus/pci/drivers/vfio-pci
sys/bus/pci/devices/0000:04:00.0/iommu_group -> ../../../../kernel/iommu_groups/31
sys/bus/pci/devices/0000:04:00.0/iommu_group/name = vfio-noiommu
sys/bus/pci/devices/0000:04:00.0/vfio-dev/vfio0/dev = 511:0
sys/bus/pci/devices/0000:05:00.0/class = 0x030200
sys/bus/pci/devices/0000:05:00.0/vendor = 0x10de
sys/bus/pci/devices/0000:05:00.0/numa_node = 1
sys/bus/auxiliary/devices/mlx5_core.sf.4 -> ../../../devices/pci0000:00/0000:00:02.0/0000:03:00.0/mlx5_core.sf.4
sys/bus/auxiliary/devices/mlx5_core.sf.4/sfnum = 88
sys/bus/auxiliary/devices/mlx5_core.sf.4/net/sf88/type = 1
sys/bus/vdpa/devices/vdpa0 -> ../../../devices/pci0000:00/0000:00:02.0/0000:03:00.3/vdpa0
sys/bus/vdpa/devices/vdpa0/driver -> ../../../bus/vdpa/drivers/vhost_vdpa
sys/bus/vdpa/devices/vdpa0/vhost-vdpa-0/
sys/class/net/eth0/phys_port_name = p0
sys/class/net/eth0/phys_switch_id = e8e8d6fe00c8a20c
sys/class/net/pf0vf0/phys_port_name = pf0vf0
sys/class/net/eth0/master -> ../bond0
sys/class/net/bond0/bonding/mode = 802.3ad 4
sys/class/net/bond0/bonding/slaves = eth0 eth1
sys/class/net/bond0/flags = 0x1403
sys/class/net/bond0/upper_bond0.100 -> ../bond0.100
sys/class/net/ib0/upper_vlan -> ../vlan
sys/class/misc/vhost-net/dev = 10:238
sys/class/misc/rdma_cm/dev = 10:122
sys/module/ib_core/parameters/netns_mode = N
route = bond0 00000000 0100000A 0003 0 0 0 00000000 0 0 0\nib0 0000080A 00000000 0001 0 0 0 0000FFFF 0 0 0
ipv6_route = 00000000000000000000000000000000 00 00000000000000000000000000000000 00 fe800000000000000000000000000001 00000400 00000001 00000000 00000003 bond0
if_inet6 = fd000000000000000000000000000005 0a 40 00 80 eth0
fib_trie = Id 100:\n  +-- 0.0.0.0/0 2 0 2\n     |-- 0.0.0.0\n        /0 universe UNICAST\nMain:
)";

constexpr const char* kIds[] = {"0000:03:00.0", "0000:03:00.2", "mlx5_core.sf.4"};

template <class Visit>
void each_line(std::string_view text, Visit&& visit) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    visit(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

void set_files(std::string_view text, FakeFiles& out) {
  each_line(text, [&](std::string_view line) {
    if (const auto file = parse_fake_file(line)) out.set(file->first, file->second);
  });
}

// Of the node, without the files whose paths have one of these words.
FakeFiles node_without(std::initializer_list<std::string_view> words) {
  FakeFiles out;
  each_line(kNode, [&](std::string_view line) {
    const auto file = parse_fake_file(line);
    if (!file) return;
    const auto is_in = [&](std::string_view word) {
      return file->first.find(word) != std::string_view::npos;
    };
    if (std::none_of(words.begin(), words.end(), is_in)) out.set(file->first, file->second);
  });
  return out;
}

// The node, and parts of it, which take a third of the time to scan.
const std::vector<FakeFiles>& base_files() {
  static const std::vector<FakeFiles> kBases = {
      node_without({}),
      node_without({"/0000:03:00.3", "/0000:04", "/0000:05", "/vdpa", "/mlx5_core.sf"}),
      node_without({"/0000:03:00.2", "/0000:04", "/0000:05", "/mlx5_core.sf"}),
      node_without({"/0000:03:00.2", "/0000:03:00.3", "/0000:04", "/0000:05", "/vdpa"}),
      node_without({"/0000:03", "/vdpa", "/mlx5_core.sf"}),
  };
  return kBases;
}

Config make_config() {
  constexpr const char* kText = R"({"resourceList":[
      {"resourceName":"rdma","selectors":{"isRdma":true,"vendors":["15b3"],"linkTypes":["infiniband"]}},
      {"resourceName":"pf","selectors":{"pfNames":["eth0#0-1"],"drivers":["mlx5_core"]}},
      {"resourceName":"sf","deviceType":"auxNetDevice","selectors":{"auxTypes":["sf"]}},
      {"resourceName":"acc","deviceType":"accelerator","selectors":{"vendors":["8086"]}}]})";
  return *parse_config(kText, {.file = "config.json"});
}

void check_function(const DeviceFacts& function) {
  const std::string id = function.id.text();
  MUST(DeviceId::parse(id) && is_file_name(id));
  MUST(!function.numa_node || *function.numa_node >= 0);
  MUST(function.vf_index >= -1);
  for (const Netdev& netdev : function.netdevs) MUST(is_file_name(netdev.name));
  for (const RdmaFacts& rdma : function.rdma) MUST(is_file_name(rdma.name));
  for (const HostUseFact& fact : function.host_use) MUST(!fact.what.empty());
}

// A device has one id, and kubelet and files know it by nothing else.
void check_inventory(const Inventory& inventory) {
  std::set<std::string> ids;
  for (const DeviceFacts& function : inventory.functions) {
    check_function(function);
    MUST(ids.insert(function.id.text()).second);
  }
  for (const UnreadDevice& device : inventory.unread) MUST(!device.reason.empty());
  for (const Gpu& gpu : inventory.gpus) MUST(!gpu.numa_node || *gpu.numa_node >= 0);
}

void check_pools(const Inventory& inventory) {
  static const Config kConfig = make_config();
  InspectFacts facts;
  facts.inventory = inventory;
  facts.pools = match(kConfig, facts.inventory);
  const Pools& pools = facts.pools;
  size_t devices = 0;
  for (const Pool& pool : pools.pools) devices += pool.devices.size();
  MUST(devices + pools.left_out.size() == inventory.functions.size());
  for (const LeftOut& left : pools.left_out) MUST(!left.reasons.empty());
  const Json report = render_json(make_report(facts));
  MUST(Json::parse(well_formed(report.text()), 16 << 20));
}

void check_device(const SysRoot& sys, const char* name) {
  const DeviceId id = *DeviceId::parse(name);
  const auto device = read_device(sys, id, static_cast<Facts>(0x3fff));
  if (!device) return check_error(device.error());
  if (*device) {
    for (const auto& netdev : (*device)->netdevs) MUST(is_file_name(netdev.name));
    for (const std::string& node : (*device)->verbs_nodes) MUST(is_file_name(node));
  }
  if (const auto place = find_vf_place(sys, id, 1)) MUST(place->place.has_value() == place->why_not.empty());
  (void)read_rdma_names(sys, id);
}

void check_tables(const FakeFiles& files) {
  HostNetwork out;
  const auto parse = [&](const char* name, void (*table)(std::string_view, HostNetwork&)) {
    const FakeFiles::Place* place = files.find(FakePath(name));
    if (place != nullptr && place->file) table(place->file->text(), out);
  };
  parse("route", parse_proc_route);
  parse("ipv6_route", parse_proc_ipv6_route);
  parse("if_inet6", parse_proc_if_inet6);
  parse("fib_trie", parse_proc_fib_trie);
  for (const auto* table : {&out.default_routes, &out.addresses}) {
    for (const auto& [name, facts] : *table) MUST(!facts.empty() && facts.size() <= 32);
  }
}

void check_scan(const SysRoot& sys, bool with_pools) {
  const auto inventory = scan(sys, nullptr);
  if (!inventory) return check_error(inventory.error());
  check_inventory(*inventory);
  if (with_pools) check_pools(*inventory);
}

void check_all(const SysRoot& sys, const FakeFiles& changed) {
  check_tables(changed);
  for (const FakeFiles& base : base_files()) {
    set_fake_node(&base, &changed);
    for (const char* id : kIds) check_device(sys, id);
    check_scan(sys, true);
  }
}

// One part of the node and one part of the checks; the whole node one time in thirty-two.
void check_part(const SysRoot& sys, const FakeFiles& changed, size_t number) {
  const size_t turn = number / 16 % 32;
  set_fake_node(&base_files()[turn == 0 ? 0 : 1 + turn % 4], &changed);
  switch (number % 8) {
    case 0:
      return check_tables(changed);
    case 1:
    case 2:
    case 3:
      return check_scan(sys, number % 16 == 1);
    default:  // what a scan reads of each function, and what ADD reads besides
      return check_device(sys, kIds[number / 16 % std::size(kIds)]);
  }
}

// Changes one line: its value, its name, or what is done with it.
class Mutation {
 public:
  explicit Mutation(uint32_t seed) : random_(seed) {}

  std::string mutate(std::string_view text) {
    static const std::vector<std::string> kLines = lines_of(kNode);
    std::vector<std::string> lines = lines_of(text);
    if (lines.empty() || random_() % 3 == 0) {
      lines.push_back(kLines[random_() % kLines.size()]);
    }
    std::string& line = lines[random_() % lines.size()];
    switch (random_() % 6) {
      case 0:
        line.clear();
        break;
      case 1:
        line = line.substr(0, line.find(' ')) + " ! " + std::to_string(1 + random_() % 133);
        break;
      case 2:  // another file's value
        line = line.substr(0, line.find(' ')) + behind_name(kLines[random_() % kLines.size()]);
        break;
      case 3:  // another name
        line.insert(0, mutated(line.substr(0, line.find(' ')), true));
        break;
      default:
        line = line.substr(0, line.find(' ')) + " = " + mutated(value_of(line), false);
        break;
    }
    return joined(lines, "\n");
  }

 private:
  static std::vector<std::string> lines_of(std::string_view text) { return split(text, "\n"); }
  static std::string behind_name(const std::string& line) {
    return line.substr(std::min(line.find(' '), line.size()));
  }
  static std::string value_of(const std::string& line) {
    const size_t at = line.find(" = ");
    return at == std::string::npos ? "" : line.substr(at + 3);
  }
  // Of a name the last part alone, so that it stays where it is asked for.
  std::string mutated(std::string text, bool is_name) {
    std::string folder;
    if (is_name) {
      const size_t last = text.rfind('/', text.rfind('/') - (random_() % 2));
      folder = text.substr(0, last == std::string::npos ? 0 : last + 1);
      text.erase(0, folder.size());
    }
    const size_t size = text.size();
    text.resize(size + 16);
    text.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(text.data()), size, text.size()));
    return folder + text;
  }

  std::minstd_rand random_;
};

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed) {
  if (seed % 16 == 0) return LLVMFuzzerMutate(data, size, max_size);
  const std::string out = Mutation(seed).mutate(text_of(data, size));
  if (out.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data, out.data(), out.size());
  return out.size();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static FakeFiles changed;
  changed.clear();
  set_files(text_of(data, size), changed);
  const SysRoot sys{std::string(kFakeRoot)};
  if (tries_new_inputs()) {
    check_part(sys, changed, size);
  } else {
    check_all(sys, changed);
  }
  return 0;
}

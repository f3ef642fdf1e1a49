#include "plugin/device/prefer/preferred.h"

#include "tests/plugin/tree.h"

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <set>

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;
using test::Tree;

namespace {

using Ids = std::vector<std::string>;

constexpr Preference kAll[] = {Preference::numa,   Preference::pcie,        Preference::pack,
                               Preference::spread, Preference::distinct_pf, Preference::rail};

// The pool of the functions that `wanted` takes, with all GPUs of the node.
Pool pool_of(const std::string& tree, Preference preference,
             const std::function<bool(const DeviceFacts&)>& wanted) {
  static std::map<std::string, Inventory> known;
  if (known.count(tree) == 0) known.emplace(tree, Tree(tree).scan());
  const Inventory& inventory = known.at(tree);
  Pool out;
  out.config.preference = preference;
  out.gpus = std::make_shared<const std::vector<Gpu>>(inventory.gpus);
  for (const DeviceFacts& function : inventory.functions) {
    if (!wanted(function)) continue;
    PoolDevice device;
    device.facts = function;
    out.devices.push_back(std::move(device));
  }
  return out;
}

bool any_vf(const DeviceFacts& function) { return function.is_vf(); }

// VFs of the ports that have an InfiniBand name without a function number: the compute network.
bool compute_vf(const DeviceFacts& function) {
  return function.is_vf() && function.pf_name.starts_with("ibp") &&
         function.pf_name.find('f') == std::string::npos;
}

Ids all_ids(const Pool& pool) {
  Ids out;
  for (const PoolDevice& device : pool.devices) out.push_back(device.id());
  return out;
}

Ids without(Ids ids, const Ids& gone) {
  std::erase_if(ids, [&](const auto& id) { return std::find(gone.begin(), gone.end(), id) != gone.end(); });
  return ids;
}

Ids prefer(const Pool& pool, int64_t size, const Ids& must = {}, const Ids& taken = {}) {
  return preferred(pool, {without(all_ids(pool), taken), must, size});
}

// "0c" of "0000:0c:00.1", for each id.
Ids buses(const Ids& ids) {
  Ids out;
  for (const std::string& id : ids) out.push_back(id.substr(5, 2));
  return out;
}

const Ids kA100Rails{"0c", "12", "4b", "54", "8d", "94", "ba", "cc"};
const Ids kH100Rails{"18", "40", "4f", "5e", "9a", "c0", "ce", "dc"};

}  // namespace

TEST_CASE("DGX A100, pcie: two VFs are of the two NICs behind one switch, beside its two GPUs") {
  const Pool pool = pool_of("dgx_a100", Preference::pcie, any_vf);
  CHECK(prefer(pool, 2) == Ids{"0000:0c:00.1", "0000:12:00.1"});
  CHECK(buses(prefer(pool, 8)) == kA100Rails);
  CHECK(prefer(pool, 2, {"0000:94:00.2"}) == Ids{"0000:8d:00.1", "0000:94:00.2"});
  // The switch that is quite free, rather than one that has only one NIC left.
  CHECK(buses(prefer(pool, 2, {}, {"0000:0c:00.1", "0000:0c:00.2"})) == Ids{"4b", "54"});
  // A container with sixteen has all of them; the storage ports come last.
  CHECK(buses(prefer(pool, 16)) ==
        Ids{"0c", "0c", "12", "12", "4b", "4b", "54", "54", "8d", "8d", "94", "94", "ba", "ba", "cc", "cc"});
}

TEST_CASE("DGX A100: the other preferences do what their names say") {
  const auto ask = [](Preference preference, int64_t size, const Ids& taken = {}) {
    return prefer(pool_of("dgx_a100", preference, compute_vf), size, {}, taken);
  };
  CHECK(buses(ask(Preference::rail, 8)) == kA100Rails);
  CHECK(buses(ask(Preference::rail, 3)) == Ids{"0c", "12", "4b"});
  CHECK(buses(ask(Preference::rail, 10)) == Ids{"0c", "0c", "12", "12", "4b", "54", "8d", "94", "ba", "cc"});
  CHECK(ask(Preference::pack, 2) == Ids{"0000:0c:00.1", "0000:0c:00.2"});
  CHECK(ask(Preference::pack, 1, {"0000:54:00.1"}) == Ids{"0000:54:00.2"});
  CHECK(buses(ask(Preference::spread, 8)) == kA100Rails);
  CHECK(buses(ask(Preference::spread, 1, {"0000:0c:00.1", "0000:12:00.1"})) == Ids{"4b"});
  CHECK(buses(ask(Preference::distinct_pf, 2, {"0000:0c:00.1", "0000:0c:00.2"})) == Ids{"4b", "54"});
  CHECK(buses(ask(Preference::numa, 4)) == Ids{"0c", "0c", "12", "12"});
  CHECK(buses(ask(Preference::numa, 2)) == Ids{"0c", "12"});
  // Three are left on this node and two are wanted: the others stay whole.
  CHECK(buses(ask(Preference::numa, 2, {"0000:ba:00.1"})) == Ids{"ba", "cc"});
}

TEST_CASE("DGX H100, pcie: each VF is beside a GPU of its own, and all are on one socket if they can be") {
  const Pool pool = pool_of("dgx_h100", Preference::pcie, any_vf);
  CHECK(prefer(pool, 1) == Ids{"0000:18:00.1"});
  CHECK(buses(prefer(pool, 1, {}, {"0000:18:00.1"})) == Ids{"40"});
  CHECK(buses(prefer(pool, 2)) == Ids{"18", "40"});
  CHECK(buses(prefer(pool, 4)) == Ids{"18", "40", "4f", "5e"});
  CHECK(buses(prefer(pool, 4, {"0000:c0:00.1"})) == Ids{"9a", "c0", "ce", "dc"});
  CHECK(buses(prefer(pool, 8)) == kH100Rails);
}

TEST_CASE(
    "a node like a DGX B200: the functions that manage the NVLink switches are no neighbours of a GPU") {
  const Pool pool = pool_of("b200", Preference::pcie, [](const DeviceFacts& function) {
    return function.is_vf() || function.num_vfs == 0;  // a selector that is too wide
  });
  REQUIRE(pool.find("0000:05:00.0") != nullptr);
  CHECK(buses(prefer(pool, 8)) == kH100Rails);
  CHECK(buses(prefer(pool, 1)) == Ids{"18"});
}

TEST_CASE("two sockets, no GPU: near is one card, then one socket") {
  const auto ask = [](Preference preference, int64_t size) {
    return prefer(pool_of("two_sockets", preference, any_vf), size);
  };
  CHECK(ask(Preference::pcie, 2) == Ids{"0000:17:00.2", "0000:17:01.2"});
  CHECK(ask(Preference::pcie, 4) == Ids{"0000:17:00.2", "0000:17:00.3", "0000:17:01.2", "0000:17:01.3"});
  CHECK(ask(Preference::distinct_pf, 2) == Ids{"0000:17:00.2", "0000:17:01.2"});
  CHECK(buses(ask(Preference::distinct_pf, 4)) == Ids{"17", "17", "31", "31"});
  CHECK(ask(Preference::distinct_pf, 6).size() == 6);
  // Of the socket with two cards nine VFs would be left over, of the other two.
  CHECK(buses(ask(Preference::numa, 6)) == Ids{"b1", "b1", "b1", "b1", "b1", "b1"});
  CHECK(buses(ask(Preference::pack, 4)) == Ids{"17", "17", "17", "17"});
  CHECK(buses(ask(Preference::pack, 6)) == Ids{"17", "17", "17", "17", "17", "17"});
}

TEST_CASE(
    "a resource without preference, and one with several devices per unit, leave the choice to kubelet") {
  Pool pool = pool_of("two_sockets", Preference::none, any_vf);
  CHECK(preference_of(pool) == Preference::none);
  CHECK(prefer(pool, 2).empty());
  pool.config.preference = Preference::pack;
  CHECK(preference_of(pool) == Preference::pack);
  CHECK(prefer(pool, 2).size() == 2);
  pool.config.units = 100;
  for (const UnitKind unit : {UnitKind::shared, UnitKind::bundle}) {
    pool.config.unit = unit;
    CHECK(preference_of(pool) == Preference::none);
    CHECK(preferred(pool, {{"1", "2", "bundle-0"}, {}, 2}).empty());
  }
}

TEST_CASE("of shared devices a pod gets a unit of the least used one") {
  // Unit i stands for card i modulo 6: 17, 17, 31, 31, b1, b1.
  Pool pool =
      pool_of("two_sockets", Preference::none, [](const DeviceFacts& function) { return !function.is_vf(); });
  REQUIRE(pool.devices.size() == 6);
  pool.config.unit = UnitKind::shared_one;
  pool.config.units = 12;
  const Ids free{"3", "5", "6", "7", "8", "9", "10", "11"};  // 0, 1, 2 and 4 are in use
  CHECK(preferred(pool, {free, {}, 1}) == Ids{"3"});
  CHECK(preferred(pool, {free, {}, 2}) == Ids{"3", "5"});
  CHECK(preferred(pool, {free, {}, 6}) == Ids{"6", "7", "8", "3", "10", "5"});
  pool.config.preference = Preference::rail;
  CHECK(preferred(pool, {free, {}, 2}) == Ids{"6", "7"});
}

namespace {

// How many devices of each group the set has.
std::vector<size_t> counts_of(const DeviceTree& tree, const std::set<size_t>& chosen) {
  std::vector<size_t> out(tree.groups.size());
  for (size_t i = tree.groups.size(); i-- > 0;) {
    for (const size_t device : tree.groups[i].available) out[i] += chosen.count(device);
    for (const size_t child : tree.groups[i].children) out[i] += out[child];
  }
  return out;
}

// All devices of the pool, some of them available and required.
DeviceTree tree_of(const Pool& pool, const std::set<size_t>& available, const std::set<size_t>& must) {
  TreeInput input{{}, {}, available, must};
  for (const PoolDevice& device : pool.devices) input.members.push_back(&device.facts);
  if (pool.gpus) input.gpus = *pool.gpus;
  return build_tree(input);
}

std::set<size_t> indexes_of(const Pool& pool, const Ids& ids) {
  std::set<size_t> out;
  for (size_t i = 0; i < pool.devices.size(); ++i) {
    if (std::find(ids.begin(), ids.end(), pool.devices[i].id()) != ids.end()) out.insert(i);
  }
  return out;
}

// Of each size, the smallest cost of all subsets of `available` that have all of `must`.
std::map<size_t, Cost> try_all(const DeviceTree& tree, Preference preference,
                               const std::vector<size_t>& available, const std::set<size_t>& must) {
  std::map<size_t, Cost> out;
  for (uint32_t bits = 1; bits < (1U << available.size()); ++bits) {
    std::set<size_t> chosen;
    for (size_t i = 0; i < available.size(); ++i) {
      if ((bits >> i & 1U) != 0) chosen.insert(available[i]);
    }
    if (!std::includes(chosen.begin(), chosen.end(), must.begin(), must.end())) continue;
    const Cost cost = Objective(preference, tree, chosen.size()).of_set(tree, counts_of(tree, chosen));
    const auto at = out.find(chosen.size());
    if (at == out.end() || cost < at->second) out[chosen.size()] = cost;
  }
  return out;
}

// The answers of every size against all subsets. Counts the sizes.
size_t compare_with_all(Pool& pool, const Ids& available, const Ids& must) {
  const auto free = indexes_of(pool, available);
  const auto wanted = indexes_of(pool, must);
  const DeviceTree tree = tree_of(pool, free, wanted);
  const std::vector<size_t> listed(free.begin(), free.end());
  size_t sizes = 0;
  for (const Preference preference : kAll) {
    pool.config.preference = preference;
    for (const auto& [size, best] : try_all(tree, preference, listed, wanted)) {
      const Ids answer = preferred(pool, {available, must, static_cast<int64_t>(size)});
      const auto chosen = indexes_of(pool, answer);
      const Cost cost = Objective(preference, tree, size).of_set(tree, counts_of(tree, chosen));
      if (answer.size() != size || cost != best) {
        FAIL("preference " << int(preference) << ", size " << size << ", " << available.size()
                           << " available: " << cost[0] << "," << cost[1] << "," << cost[2] << " is not "
                           << best[0] << "," << best[1] << "," << best[2]);
      }
      ++sizes;
    }
  }
  return sizes;
}

// Some of them, at random.
Ids some_of(Ids ids, size_t count, std::mt19937& random) {
  std::shuffle(ids.begin(), ids.end(), random);
  ids.resize(std::min(count, ids.size()));
  return ids;
}

}  // namespace

TEST_CASE(
    "no subset is better than the answer: every set of available and required devices of a small node") {
  Tree tree("");
  // Two sockets; on the first a switch with a GPU and two NICs, one with two VFs; on the second a NIC and a
  // GPU on ports of one host bridge.
  tree.add(R"(
pci pci0000:10/0000:10:01.0/0000:11:00.0/0000:12:00.0/0000:13:00.0 class=0x030200 vendor=10de device=1 numa=0
pci pci0000:10/0000:10:01.0/0000:11:00.0/0000:12:01.0/0000:14:00.0 class=0x020000 vendor=15b3 device=1 numa=0 vfs=0000:14:00.1,0000:14:00.2
pci pci0000:10/0000:10:01.0/0000:11:00.0/0000:12:02.0/0000:15:00.0 class=0x020000 vendor=15b3 device=1 numa=0 vfs=0000:15:00.1
pci pci0000:80/0000:80:01.0/0000:81:00.0 class=0x020000 vendor=15b3 device=1 numa=1 vfs=0000:81:00.1,0000:81:00.2
pci pci0000:80/0000:80:02.0/0000:82:00.0 class=0x038000 vendor=1002 device=1 numa=1
)");
  const Inventory inventory = tree.scan();
  REQUIRE(inventory.gpus.size() == 2);
  Pool pool;
  pool.gpus = std::make_shared<const std::vector<Gpu>>(inventory.gpus);
  for (const DeviceFacts& function : inventory.functions) {
    if (!function.is_vf()) continue;
    PoolDevice device;
    device.facts = function;
    pool.devices.push_back(device);
  }
  const Ids ids = all_ids(pool);
  REQUIRE(ids.size() == 5);
  size_t cases = 0;
  size_t sizes = 0;
  // Each device is taken, available or required: a number with base 3.
  for (size_t state = 0; state < 243; ++state) {
    Ids available;
    Ids must;
    for (size_t i = 0, rest = state; i < ids.size(); ++i, rest /= 3) {
      if (rest % 3 > 0) available.push_back(ids[i]);
      if (rest % 3 > 1) must.push_back(ids[i]);
    }
    sizes += compare_with_all(pool, available, must);
    ++cases;
  }
  CHECK(cases == 243);
  CHECK(sizes > 2000);
}

TEST_CASE("no subset is better than the answer: random parts of the nodes") {
  const std::string tree = GENERATE("dgx_a100", "dgx_h100", "b200", "two_sockets", "igb_node");
  Pool pool = pool_of(tree, Preference::none, any_vf);
  std::mt19937 random(4);  // NOLINT: the same each time
  for (size_t round = 0; round < 8; ++round) {
    const Ids available = some_of(all_ids(pool), 8, random);
    compare_with_all(pool, available, some_of(available, round % 3, random));
  }
}

namespace {

// Devices to GPUs, each GPU at most `a_gpu` times: the smallest sum of distances, by trying.
int64_t deal_out(const std::vector<Place>& devices, const std::vector<Place>& gpus, std::vector<int> left,
                 size_t next, const std::function<int64_t(Distance)>& measure) {
  if (next == devices.size()) return 0;
  int64_t best = INT64_MAX;
  for (size_t i = 0; i < gpus.size(); ++i) {
    if (left[i] == 0) continue;
    --left[i];
    best = std::min(
        best, measure(distance(devices[next], gpus[i])) + deal_out(devices, gpus, left, next + 1, measure));
    ++left[i];
  }
  return best;
}

int64_t as_number(Distance distance) { return static_cast<int64_t>(distance); }
int64_t beyond_pxb(Distance distance) { return std::max<int64_t>(0, as_number(distance) - 2); }

}  // namespace

TEST_CASE("pcie minimizes the sum over pairs of devices, and over the best assignment of GPUs") {
  const std::string tree = GENERATE("dgx_a100", "dgx_h100", "b200");
  const Pool pool = pool_of(tree, Preference::pcie, any_vf);
  std::mt19937 random(5);  // NOLINT: the same each time
  std::vector<Place> gpus;
  for (const Gpu& gpu : *pool.gpus) gpus.push_back(place_of(gpu));
  REQUIRE(gpus.size() == 8);
  for (size_t round = 0; round < 20; ++round) {
    const auto chosen = indexes_of(pool, some_of(all_ids(pool), 1 + round % 4, random));
    std::vector<Place> places;
    for (const size_t i : chosen) places.push_back(place_of(pool.devices[i].facts));
    int64_t apart = 0;
    int64_t finely = 0;
    for (size_t i = 0; i < places.size(); ++i) {
      for (size_t k = 0; k < i; ++k) {
        apart += beyond_pxb(distance(places[i], places[k]));
        finely += as_number(distance(places[i], places[k]));
      }
    }
    const std::vector<int> each_once(gpus.size(), 1);
    const DeviceTree groups = tree_of(pool, indexes_of(pool, all_ids(pool)), {});
    const Cost cost =
        Objective(Preference::pcie, groups, chosen.size()).of_set(groups, counts_of(groups, chosen));
    CHECK(cost[0] == deal_out(places, gpus, each_once, 0, beyond_pxb));
    CHECK(cost[1] == apart);
    CHECK(cost[3] == finely + deal_out(places, gpus, each_once, 0, as_number));
  }
}

namespace {

bool is_valid(const Ids& answer, const PreferredRequest& request) {
  const std::set<std::string> unique(answer.begin(), answer.end());
  const std::set<std::string> available(request.available.begin(), request.available.end());
  const std::set<std::string> must(request.must_include.begin(), request.must_include.end());
  return unique.size() == answer.size() && static_cast<int64_t>(answer.size()) == request.size &&
         std::includes(available.begin(), available.end(), unique.begin(), unique.end()) &&
         std::includes(unique.begin(), unique.end(), must.begin(), must.end());
}

// Whether there is a valid answer at all.
bool can_be_met(const PreferredRequest& request) {
  const std::set<std::string> available(request.available.begin(), request.available.end());
  const std::set<std::string> must(request.must_include.begin(), request.must_include.end());
  return request.size > 0 && request.size <= static_cast<int64_t>(available.size()) &&
         static_cast<int64_t>(must.size()) <= request.size &&
         std::includes(available.begin(), available.end(), must.begin(), must.end());
}

// Anything: ids of the pool and others, some twice, any size.
PreferredRequest any_request(const Ids& ids, std::mt19937& random) {
  const Ids strange{"", "0000:ff:1f.7", "0000:0c:00.1 ", "nonsense", "\xff\xfe", std::string(5000, 'x')};
  const auto number = [&](size_t below) { return static_cast<size_t>(random() % below); };
  PreferredRequest out;
  out.available = some_of(ids, number(ids.size() + 1), random);
  for (size_t i = number(4); i > 0; --i) out.available.push_back(strange[number(strange.size())]);
  for (size_t i = number(3); i > 0 && !out.available.empty(); --i)
    out.available.push_back(out.available[number(out.available.size())]);
  out.must_include = some_of(out.available, number(4), random);
  if (number(8) == 0) out.must_include.push_back(strange[number(strange.size())]);
  const int64_t sizes[] = {0, -1, INT32_MIN, INT32_MAX, INT64_MIN, INT64_MAX};
  out.size = number(8) == 0 ? sizes[number(std::size(sizes))]
                            : static_cast<int64_t>(number(out.available.size() + 2));
  return out;
}

}  // namespace

TEST_CASE(
    "whatever is requested, the answer is a valid set if there is one, else empty; and always the same") {
  const std::string tree = GENERATE("dgx_a100", "b200", "two_sockets");
  std::mt19937 random(6);  // NOLINT: the same each time
  Pool pool = pool_of(tree, Preference::none, any_vf);
  const Ids ids = all_ids(pool);
  size_t met = 0;
  for (size_t round = 0; round < 600; ++round) {
    pool.config.preference = kAll[round % std::size(kAll)];
    PreferredRequest request = any_request(ids, random);
    const Ids answer = preferred(pool, request);
    const bool right = can_be_met(request) ? is_valid(answer, request) : answer.empty();
    if (!right) FAIL("round " << round << ": size " << request.size << ", answer of " << answer.size());
    met += answer.empty() ? 0 : 1;
    std::shuffle(request.available.begin(), request.available.end(), random);
    std::shuffle(request.must_include.begin(), request.must_include.end(), random);
    if (preferred(pool, request) != answer) FAIL("round " << round << ": another answer to the same");
  }
  CHECK(met > 200);
}

TEST_CASE("a pool whose facts are missing or contradict each other gets an answer, too") {
  std::mt19937 random(7);  // NOLINT: the same each time
  Pool pool = pool_of("two_sockets", Preference::pcie, any_vf);
  for (PoolDevice& device : pool.devices) {
    if (random() % 2 == 0) device.facts.pcie_path.resize(random() % 4);
    if (random() % 2 == 0) device.facts.numa_node = static_cast<int>(random() % 3);
    if (random() % 4 == 0) device.facts.pf.reset();
  }
  for (const bool with_gpus : {true, false}) {
    if (!with_gpus) pool.gpus = nullptr;
    for (const Preference preference : kAll) {
      pool.config.preference = preference;
      for (int64_t size = 1; size <= static_cast<int64_t>(pool.devices.size()); ++size)
        CHECK(is_valid(prefer(pool, size), {all_ids(pool), {}, size}));
    }
  }
}

TEST_CASE("the work for 1,024 devices is bounded, however they are spread over PFs") {
  const int pfs = GENERATE(1, 8, 64, 1024);
  Pool pool;
  for (int i = 0; i < 1024; ++i) {
    const int pf = i % pfs;
    PoolDevice device;
    device.facts.address = {0, uint8_t(i / 256), uint8_t(i / 8 % 32), uint8_t(i % 8)};
    device.facts.id = DeviceId(device.facts.address);
    device.facts.pf = PciAddress{1, uint8_t(pf / 256), uint8_t(pf / 8 % 32), uint8_t(pf % 8)};
    device.facts.numa_node = pf % 2;
    const std::string number = std::to_string(pf);
    device.facts.pcie_path = {"pci" + std::to_string(pf % 4), "root" + std::to_string(pf % 16),
                              "switch" + std::to_string(pf % 32), "port" + number, "function"};
    pool.devices.push_back(std::move(device));
  }
  std::set<size_t> all;
  for (size_t i = 0; i < pool.devices.size(); ++i) all.insert(i);
  const DeviceTree tree = tree_of(pool, all, {});
  for (const Preference preference : kAll) {
    for (const size_t size : {size_t{1}, size_t{16}, size_t{1024}}) {
      const Choice choice = choose(tree, Objective(preference, tree, size), size);
      CHECK(choice.steps <= 14 * pool.devices.size() * (size + 1));
      CHECK(choice.counts[0] == size);
    }
    pool.config.preference = preference;
    CHECK(prefer(pool, 16).size() == 16);
  }
}

// plugin/device/advertise/advertised.h: its order of steps, and its properties over random walks.
#include "plugin/device/advertise/advertised.h"

#include <algorithm>
#include <random>

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

using Time = Advertised::Time;
using Ids = std::set<std::string>;

constexpr const char* kResources[] = {"hostdev", "rest"};
const Time kStart{seconds{1000}};

std::string id_of(size_t number) { return "0000:03:02." + std::to_string(number); }
std::string name_of(size_t pool) { return "intel.com/" + std::string(kResources[pool]); }

PoolDevice make_pool_device(const std::string& id, bool healthy, bool away) {
  PoolDevice out;
  out.facts.address = *PciAddress::parse(id);
  out.facts.id = DeviceId(out.facts.address);
  out.facts.driver = Driver("mlx5_core");
  if (!away) out.facts.netdevs.push_back({.name = *IfName::parse("eth" + id.substr(11))});
  if (!healthy) out.fault = {FaultCode::no_carrier, "no carrier"};
  return out;
}

// What the node and its pods really are.
struct Truth {
  struct Device {
    size_t pool = 0;  // that its selectors put it into
    bool there = true;
    bool readable = true;
    bool healthy = true;
    bool in_pod = false;        // its interface is not seen
    size_t allocated_from = 0;  // with in_container: of which pool
    bool in_container = false;  // kubelet would say so
  };
  std::vector<Device> devices = std::vector<Device>(5);

  Pools read() const {
    Pools out;
    for (const char* name : kResources) {
      Pool pool;
      pool.config.prefix = "intel.com";
      pool.config.name = name;
      pool.config.selectors.emplace_back();
      out.pools.push_back(std::move(pool));
    }
    for (size_t i = 0; i < devices.size(); ++i) {
      const Device& device = devices[i];
      if (!device.there) continue;
      if (!device.readable)
        out.unread.push_back({id_of(i), "EIO"});
      else
        out.pools[device.pool].devices.push_back(make_pool_device(id_of(i), device.healthy, device.in_pod));
    }
    return out;
  }
  DevicesInUse in_use() const {
    DevicesInUse out;
    for (size_t i = 0; i < devices.size(); ++i) {
      if (devices[i].in_container)
        out.resources[name_of(devices[i].allocated_from)][id_of(i)] = {"default", "p", "c"};
    }
    return out;
  }
};

Ids ids_in(const PublishedPool& pool) {
  Ids out;
  for (const PoolDevice& device : pool->devices) out.insert(device.id());
  return out;
}

std::map<std::string, FaultCode> health_in(const Advertised& advertised) {
  std::map<std::string, FaultCode> out;
  for (const PublishedPool& pool : advertised.pools()) {
    for (const PoolDevice& device : pool->devices)
      out[pool->resource() + " " + device.id()] = device.fault.code;
  }
  return out;
}

std::vector<const Pool*> identities(const Advertised& advertised) {
  std::vector<const Pool*> out;
  for (const PublishedPool& pool : advertised.pools()) out.push_back(&*pool);
  return out;
}

// A node that changes at random, read at random times, with kubelet answering or not.
class Walk {
 public:
  explicit Walk(uint32_t seed) : random_(seed) {}

  void run(int steps) {
    for (int i = 0; i < steps; ++i) {
      now_ += milliseconds{pick(10) == 0 ? 4000 : pick(400)};
      change_something();
      switch (pick(4)) {
        case 0:
          read();
          break;
        case 1:
          fail();
          break;
        case 2:
          answer();
          break;
        default:
          if (pick(4) == 0) advertised_.not_answered(now_);
          read();
      }
    }
  }

  // Nothing changes any more, and whatever asks to be done is done.
  void settle() {
    for (Truth::Device& device : truth_.devices) device.readable = true;
    for (int i = 0; i < 20; ++i) {
      answer();
      read();
      now_ = std::max(now_ + milliseconds{1},
                      advertised_.read_at() == Time::max() ? now_ : advertised_.read_at());
    }
  }

  const Truth& truth() const { return truth_; }
  const Advertised& advertised() const { return advertised_; }

 private:
  size_t pick(size_t count) { return random_() % count; }

  void change_something() {
    Truth::Device& device = truth_.devices[pick(truth_.devices.size())];
    switch (pick(7)) {
      case 0:
        device.there = !device.there;
        break;
      case 1:
        device.readable = !device.readable;
        break;
      case 2:
        device.healthy = !device.healthy;
        break;
      case 3:  // a pod starts with it
        if (device.in_container || !device.there) break;
        device.in_container = device.in_pod = true;
        device.allocated_from = device.pool;
        break;
      case 4:  // a pod ends: kubelet first, then the kernel, or the other way
        device.in_container = false;
        break;
      case 5:
        if (!device.in_container) device.in_pod = false;
        break;
      default:  // another configuration, or a selector that sees less
        if (pick(3) == 0) device.pool = 1 - device.pool;
    }
  }

  void answer() {
    known_ = truth_.in_use();
    advertised_.answered(known_, now_, now_);
  }

  void fail() {
    const auto before = identities(advertised_);
    CHECK_FALSE(advertised_.read(Error{Errc::system, 0, "no sysfs today"}, now_));
    CHECK(identities(advertised_) == before);
    CHECK(advertised_.failure());
    CHECK(advertised_.read_at() <= now_ + seconds{5});
  }

  void read() {
    const auto before = health_in(advertised_);
    const auto lists = advertised_.pools();
    if (!advertised_.read(truth_.read(), now_)) return;
    check_nothing_twice();
    check_in_use();
    check_unread(lists);
    check_no_flapping(before);
    CHECK(advertised_.read_at() >= now_);
  }

  void check_nothing_twice() {
    Ids seen;
    for (const PublishedPool& pool : advertised_.pools()) {
      CHECK(std::is_sorted(pool->devices.begin(), pool->devices.end(),
                           [](const auto& a, const auto& b) { return a.facts.address < b.facts.address; }));
      for (const PoolDevice& device : pool->devices) {
        INFO(device.id());
        // One that two resources could offer is healthy in one of them at most.
        if (device.fault.empty()) CHECK(seen.insert(device.id()).second);
      }
    }
  }
  void check_in_use() {
    for (const auto& [resource, devices] : known_.resources) {
      for (const PublishedPool& pool : advertised_.pools()) {
        if (pool->resource() != resource) continue;
        for (const auto& [id, container] : devices) {
          INFO(id << " of " << resource);
          CHECK(ids_in(pool).contains(id));
        }
      }
    }
  }
  // It stays where it was, or goes to the resource whose container has it.
  void check_unread(const std::vector<PublishedPool>& before) {
    const auto lists_it = [](const std::vector<PublishedPool>& pools, const std::string& id) {
      return std::any_of(pools.begin(), pools.end(),
                         [&](const PublishedPool& pool) { return pool->find(id) != nullptr; });
    };
    for (size_t i = 0; i < truth_.devices.size(); ++i) {
      if (truth_.devices[i].readable || !truth_.devices[i].there) continue;
      INFO("unreadable " << id_of(i));
      if (lists_it(before, id_of(i))) CHECK(lists_it(advertised_.pools(), id_of(i)));
    }
  }
  // By its port: what a container has counts at once.
  void check_no_flapping(const std::map<std::string, FaultCode>& before) {
    for (const auto& [key, code] : health_in(advertised_)) {
      const auto old = before.find(key);
      const bool by_container = Fault{code}.is_by_container();
      if (old == before.end() || by_container || Fault{old->second}.is_by_container()) {
        changed_at_.erase(key);
        continue;
      }
      if (old->second == code) continue;
      INFO(key);
      const auto last = changed_at_.find(key);
      if (last != changed_at_.end()) CHECK(now_ - last->second >= Debounce::kHold);
      changed_at_[key] = now_;
    }
  }

  std::minstd_rand random_;
  Time now_ = kStart;
  Truth truth_;
  DevicesInUse known_;
  Advertised advertised_{{}, kStart};
  std::map<std::string, Time> changed_at_;
};

}  // namespace

TEST_CASE(
    "whatever happens, what containers have stays, nothing flaps, and a failed reading changes nothing") {
  for (uint32_t seed = 1; seed <= 300; ++seed) {
    INFO("seed " << seed);
    Walk walk(seed);
    walk.run(60);
  }
}

TEST_CASE("when nothing changes any more, the lists are what the node and its containers are") {
  for (uint32_t seed = 1; seed <= 200; ++seed) {
    INFO("seed " << seed);
    Walk walk(seed);
    walk.run(40);
    walk.settle();
    const Truth& truth = walk.truth();
    for (size_t i = 0; i < truth.devices.size(); ++i) {
      const Truth::Device& device = truth.devices[i];
      INFO(id_of(i));
      for (size_t pool = 0; pool < std::size(kResources); ++pool) {
        const bool used = device.in_container && device.allocated_from == pool;
        const bool selected = device.there && device.pool == pool;
        const bool listed = walk.advertised().pools()[pool]->find(id_of(i)) != nullptr;
        if (used) CHECK(listed);
        if (listed) CHECK((used || selected));
        // The other one only takes it back from a pod.
        if (selected && !device.in_container) CHECK(listed);
      }
    }
    CHECK(walk.advertised().read_at() == Time::max());
    CHECK_FALSE(walk.advertised().failure());
  }
}

TEST_CASE("the first list waits for what cannot be read, though not for ever") {
  Advertised advertised({}, kStart);
  Truth truth;
  truth.devices[1].readable = false;
  CHECK_FALSE(advertised.read(truth.read(), kStart + seconds{1}));
  CHECK_FALSE(advertised.has_list());
  CHECK(advertised.read_at() == kStart + seconds{6});
  REQUIRE(advertised.failure());
  CHECK(advertised.failure()->reason == "0000:03:02.1: EIO");
  CHECK(advertised.failure()->id == ErrorId::device_not_read);
  SECTION("it can be read") {
    truth.devices[1].readable = true;
    CHECK(advertised.read(truth.read(), kStart + seconds{2}));
    CHECK(advertised.pools()[0]->devices.size() == 5);
    CHECK_FALSE(advertised.failure());
  }
  SECTION("it cannot") {
    CHECK(advertised.read(truth.read(), kStart + seconds{20}));
    CHECK(advertised.pools()[0]->devices.size() == 4);
    CHECK(advertised.rest().unread == 1);
  }
}

TEST_CASE("the first list waits for kubelet while a container may have a device") {
  Advertised advertised({}, kStart);
  Truth truth;
  truth.devices[0].in_pod = true;
  CHECK_FALSE(advertised.read(truth.read(), kStart));
  CHECK(advertised.ask_at() <= kStart);
  SECTION("it answers") { advertised.answered(truth.in_use(), kStart, kStart); }
  SECTION("it cannot be asked") { advertised.not_answered(kStart); }
  CHECK(advertised.read_at() == kStart);
  CHECK(advertised.read(truth.read(), kStart));
}

TEST_CASE("kubelet is asked often while a device is in a list only because a container has it") {
  Advertised advertised({}, kStart);
  Truth truth;
  truth.devices[0].in_container = true;
  advertised.answered(truth.in_use(), kStart, kStart);
  REQUIRE(advertised.read(truth.read(), kStart));
  advertised.asked(kStart);
  CHECK(advertised.ask_at() == kStart + std::chrono::minutes{5});
  truth.devices[0].there = false;
  for (const seconds at : {seconds{10}, seconds{16}, seconds{20}}) {
    advertised.answered(truth.in_use(), kStart + at, kStart + at);
    REQUIRE(advertised.read(truth.read(), kStart + at));
  }
  const PoolDevice* kept = advertised.pools()[0]->find(id_of(0));
  REQUIRE(kept != nullptr);
  CHECK(kept->fault.code == FaultCode::gone);
  advertised.asked(kStart + seconds{20});
  CHECK(advertised.ask_at() == kStart + seconds{35});
  truth.devices[0].in_container = false;
  advertised.answered(truth.in_use(), kStart + seconds{35}, kStart + seconds{35});
  CHECK(advertised.read_at() == kStart + seconds{35});
  REQUIRE(advertised.read(truth.read(), kStart + seconds{35}));
  CHECK(advertised.pools()[0]->find(id_of(0)) == nullptr);
}

TEST_CASE("an orphan is one that stays so for a while, and unreadable records change nothing") {
  Advertised advertised({}, kStart);
  const Truth truth;
  REQUIRE(advertised.read(truth.read(), kStart));
  advertised.answered({}, kStart, kStart);
  const AttachedDevices attached{{id_of(1), {"c1", "net1"}}};
  CHECK_FALSE(advertised.find_orphans(attached, kStart));
  CHECK(advertised.orphans().empty());
  CHECK(advertised.ask_at() <= kStart + seconds{120});
  CHECK_FALSE(advertised.find_orphans(std::nullopt, kStart + seconds{60}));
  CHECK(advertised.find_orphans(std::nullopt, kStart + seconds{120}));
  CHECK(advertised.orphans() ==
        std::map<std::string, std::string>{{id_of(1), "has the record of an attachment"}});
  // It is swept once.
  CHECK_FALSE(advertised.find_orphans(attached, kStart + seconds{121}));
  SECTION("kubelet has given it to a pod") {
    DevicesInUse used;
    used.resources["intel.com/hostdev"][id_of(1)] = {"default", "p", "c"};
    advertised.answered(used, kStart + seconds{130}, kStart + seconds{130});
  }
  SECTION("to a pod with a claim") {
    DevicesInUse used;
    used.resources["claim default/nics"][id_of(1)] = {"default", "p", "c"};
    advertised.answered(used, kStart + seconds{130}, kStart + seconds{130});
  }
  CHECK_FALSE(advertised.find_orphans(attached, kStart + seconds{130}));
  CHECK(advertised.orphans().empty());
}

// Which slices are written, decided without an API server.
#include "plugin/kube/node/slices.h"

#include "plugin/kube/access/fields.h"
#include "tests/kube/node/node_cases.h"

using namespace vfrail;
using namespace vfrail::kube;
using namespace vfrail::test;

namespace {

using Kind = SliceChange::Kind;

// The slices of a node as the API server keeps them, and what one vfrail-kube has written.
struct Slices {
  PoolName pool{"vfrail.io", "node-1", "uid-1"};
  ObjectWatch::Objects existing = {};
  SliceMemory memory = {};
  int made = 0;
  // What the API server does to devices that are written.
  std::function<void(Json& device)> change = [](Json&) {};

  std::vector<SliceChange> decide(const Json::Array& devices) const {
    return decide_slices(pool, devices, existing, memory);
  }
  // One of them, as the API server does it.
  void carry_out(const SliceChange& one) {
    if (one.kind == Kind::remove) {
      existing.erase(one.slice);
      return;
    }
    Json stored = one.object;
    Json metadata = *stored.find("metadata");
    if (one.kind == Kind::create)
      metadata.set("name", text_at(metadata, {"generateName"}) + std::to_string(++made));
    metadata.set("uid", text_at(metadata, {"name"}));
    stored.set("metadata", metadata);
    Json spec = *stored.find("spec");
    Json devices = Json::array();
    for (Json device : list_at(spec, {"devices"})) {
      change(device);
      devices.push(std::move(device));
    }
    // An empty list is not kept.
    std::erase_if(*spec.as_object(), [](const auto& field) { return field.first == "devices"; });
    if (!devices.as_array()->empty()) spec.set("devices", devices);
    stored.set("spec", spec);
    remember(memory, one.index, one.object, stored);
    const ObjectName name_of_it = name_of(stored);
    existing[name_of_it] = std::make_shared<const Json>(std::move(stored));
  }
  // The number of changes that were needed.
  size_t settle(const Json::Array& devices) {
    const auto changes = decide(devices);
    for (const SliceChange& one : changes) carry_out(one);
    CHECK(decide(devices).empty());
    return changes.size();
  }
  std::vector<int64_t> numbers(std::string_view key) const {
    std::vector<int64_t> out;
    for (const auto& [name, slice] : existing)
      out.push_back(*value_at(*slice, {"spec", "pool", key})->as_int());
    return out;
  }
  std::vector<size_t> sizes() const {
    std::vector<size_t> out;
    for (const auto& [name, slice] : existing) out.push_back(list_at(*slice, {"spec", "devices"}).size());
    return out;
  }
  ObjectName name(size_t index) const { return std::next(existing.begin(), static_cast<long>(index))->first; }
  void edit(size_t index, const std::function<void(Json& pool)>& change_pool) {
    Json slice = *existing[name(index)];
    Json spec = *slice.find("spec");
    Json numbers = *spec.find("pool");
    change_pool(numbers);
    spec.set("pool", numbers);
    slice.set("spec", spec);
    existing[name(index)] = std::make_shared<const Json>(slice);
  }
};

using Numbers = std::vector<int64_t>;
using Sizes = std::vector<size_t>;

}  // namespace

TEST_CASE("150 devices are three slices in the order of the devices, which belong to the node") {
  Slices slices;
  CHECK(slices.settle(vfs(150)) == 3);
  CHECK(slices.sizes() == Sizes{64, 64, 22});
  CHECK(slices.numbers("generation") == Numbers{1, 1, 1});
  CHECK(slices.numbers("resourceSliceCount") == Numbers{3, 3, 3});
  CHECK(slices.name(1).name.rfind("00001-vfrail.io-node-1-", 0) == 0);
  const Json& second = *slices.existing[slices.name(1)];
  CHECK(text_at(list_at(second, {"spec", "devices"})[0], {"name"}) == "0000-3b-02-64");
  CHECK(second.find("metadata")->find("ownerReferences")->text() ==
        R"([{"apiVersion":"v1","kind":"Node","name":"node-1","uid":"uid-1","controller":true}])");
  CHECK(text_at(second, {"spec", "nodeName"}) == "node-1");
}

TEST_CASE("without devices there is one empty slice") {
  Slices slices;
  CHECK(slices.settle({}) == 1);
  CHECK(slices.sizes() == Sizes{0});
}

TEST_CASE("a change in one slice is one write in its generation") {
  Slices slices;
  slices.settle(vfs(150));
  Json::Array changed = vfs(150);
  changed[70] = with_taint(changed[70]);
  const auto changes = slices.decide(changed);
  REQUIRE(changes.size() == 1);
  CHECK(changes[0].kind == Kind::replace);
  CHECK(changes[0].slice == slices.name(1));
  slices.settle(changed);
  CHECK(slices.numbers("generation") == Numbers{1, 1, 1});
}

TEST_CASE("changes in two slices are a new generation of all") {
  Slices slices;
  slices.settle(vfs(150));
  Json::Array changed = vfs(150);
  changed[0] = with_taint(changed[0]);
  changed[149] = with_taint(changed[149]);
  CHECK(slices.settle(changed) == 3);
  CHECK(slices.numbers("generation") == Numbers{2, 2, 2});
}

TEST_CASE("another order of the devices is a change, and the order of their keys is none") {
  Slices slices;
  slices.settle(vfs(2));
  Json::Array turned = vfs(2);
  std::swap(turned[0], turned[1]);
  CHECK(slices.settle(turned) == 1);
  Json& one = turned[0];
  std::reverse(one.as_object()->begin(), one.as_object()->end());
  CHECK(slices.decide(turned).empty());
}

TEST_CASE("the number of slices grows with the devices and never shrinks") {
  Slices slices;
  slices.settle(vfs(64));
  slices.settle(vfs(65));
  CHECK(slices.sizes() == Sizes{64, 1});
  CHECK(slices.numbers("resourceSliceCount") == Numbers{2, 2});
  CHECK(slices.settle(vfs(3)) == 2);
  CHECK(slices.sizes() == Sizes{3, 0});
  CHECK(slices.numbers("resourceSliceCount") == Numbers{2, 2});
  slices.memory = {};  // a restart
  CHECK(slices.decide(vfs(3)).empty());
}

TEST_CASE("what kubelet deletes comes back: all in a new generation, a part in that of the rest") {
  Slices slices;
  slices.settle(vfs(150));
  slices.existing.erase(slices.name(2));
  CHECK(slices.settle(vfs(150)) == 1);
  CHECK(slices.numbers("generation") == Numbers{1, 1, 1});
  slices.existing.clear();
  CHECK(slices.settle(vfs(10)) == 3);
  CHECK(slices.sizes() == Sizes{10, 0, 0});
  CHECK(slices.numbers("generation") == Numbers{2, 2, 2});
}

TEST_CASE("a generation of which a part was written is completed") {
  Slices slices;
  slices.settle(vfs(150));
  Json::Array changed = vfs(150);
  for (Json& device : changed) device = with_taint(device);
  slices.carry_out(slices.decide(changed)[0]);
  const auto rest = slices.decide(changed);
  CHECK(rest.size() == 2);
  slices.settle(changed);
  CHECK(slices.numbers("generation") == Numbers{2, 2, 2});
}

TEST_CASE("the time of a taint is kept while the taint is the same") {
  Slices slices;
  slices.change = [](Json& device) {
    Json::Array taints = list_at(device, {"taints"});
    for (Json& taint : taints) {
      if (taint.find("timeAdded") == nullptr) taint.set("timeAdded", "2026-11-27T01:30:00Z");
    }
    if (!taints.empty()) device.set("taints", taints);
  };
  Json::Array devices = vfs(2);
  devices[0] = with_taint(devices[0]);
  slices.settle(devices);
  devices[1] = with_taint(devices[1]);
  slices.change = [](Json&) {};
  const auto changes = slices.decide(devices);
  REQUIRE(changes.size() == 1);
  const Json::Array& sent = list_at(changes[0].object, {"spec", "devices"});
  CHECK(text_at(list_at(sent[0], {"taints"})[0], {"timeAdded"}) == "2026-11-27T01:30:00Z");
  CHECK(list_at(sent[1], {"taints"})[0].find("timeAdded") == nullptr);
  devices[0] = with_taint(vf(0), "removed");
  const auto other = slices.decide(devices);
  CHECK(list_at(list_at(other[0].object, {"spec", "devices"})[0], {"taints"})[0].find("timeAdded") ==
        nullptr);
}

TEST_CASE("a field that the API server drops, or writes otherwise, is not written for ever") {
  Slices slices;
  slices.change = [](Json& device) {
    std::erase_if(*device.as_object(), [](const auto& field) { return field.first == "capacity"; });
  };
  CHECK(slices.settle(vfs(2)) == 1);  // which checks that nothing is left to do
  Json::Array changed = vfs(2);
  changed[1] = with_taint(changed[1]);
  CHECK(slices.settle(changed) == 1);
}

TEST_CASE("a foreign generation is overtaken, and slices that are too many go") {
  Slices slices;
  slices.settle(vfs(100));
  Slices other;
  other.settle(vfs(1));
  other.edit(0, [](Json& pool) { pool.set("generation", 9); });
  Json foreign = *other.existing[other.name(0)];
  foreign.set("metadata", parsed(R"({"name":"somebody","uid":"u-9"})"));
  slices.existing[{"", "somebody"}] = std::make_shared<const Json>(foreign);
  CHECK(slices.settle(vfs(100)) == 3);
  CHECK(slices.numbers("generation") == Numbers{10, 10});
  // A second one with the index of the first.
  foreign.set("metadata", parsed(R"({"name":"00000-vfrail.io-node-1-zzzzz","uid":"u-10"})"));
  foreign.set("spec", *slices.existing[slices.name(0)]->find("spec"));
  slices.existing[{"", "00000-vfrail.io-node-1-zzzzz"}] = std::make_shared<const Json>(foreign);
  const auto changes = slices.decide(vfs(100));
  REQUIRE(changes.size() == 1);
  CHECK(changes[0].kind == Kind::remove);
  CHECK(changes[0].uid == "u-10");
}

TEST_CASE("slices of another driver or another node are not ours") {
  Slices slices;
  slices.settle(vfs(1));
  CHECK(own_slices(slices.existing, {"dra.net", "node-1", ""}).empty());
  CHECK(own_slices(slices.existing, {"vfrail.io", "node-2", ""}).empty());
  CHECK(own_slices(slices.existing, slices.pool).size() == 1);
}

TEST_CASE("a node that was made again owns its slices") {
  Slices slices;
  slices.settle(vfs(1));
  slices.pool.node_uid = "uid-2";
  CHECK(slices.settle(vfs(1)) == 1);
  CHECK(
      text_at(slices.existing.begin()->second->find("metadata")->find("ownerReferences")->as_array()->front(),
              {"uid"}) == "uid-2");
}

TEST_CASE("a name that is too long for the API server is cut where it takes it") {
  Slices slices;
  slices.pool.node = "node." + std::string(36, 'a') + ".example.com";  // 58 characters end at the dot
  slices.settle(vfs(1));
  const std::string prefix =
      text_at(slices.decide({}).front().object, {"metadata", "name"});  // of the one that is there
  CHECK(prefix.substr(0, 6) == "00000-");
  const std::string generated = text_at(*slices.existing.begin()->second, {"metadata", "generateName"});
  CHECK(generated.size() <= 58);
  CHECK(generated.back() == '-');
  CHECK(generated[generated.size() - 2] != '.');
}

TEST_CASE("1,024 VFs are sixteen slices, and a change of one VF is one write") {
  Slices slices;
  Json::Array devices = vfs(1024);
  CHECK(slices.settle(devices) == 16);
  devices[700] = with_taint(devices[700], "port_down");
  CHECK(slices.settle(devices) == 1);
}

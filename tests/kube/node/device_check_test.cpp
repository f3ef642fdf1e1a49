// What the API server would refuse, and what is left of a device without it.
#include "plugin/kube/node/device_check.h"

#include "tests/kube/node/node_cases.h"

using namespace vfrail;
using namespace vfrail::kube;
using namespace vfrail::test;
using Catch::Contains;

namespace {

Json device(const std::string& fields) { return parsed(R"({"name":"0000-3b-02-1",)" + fields + "}"); }

// What is left out of it, of which there is one.
std::string fault_of(const Json& one) {
  const CheckedDevices checked = check_devices({one});
  return checked.left_out.size() == 1 ? checked.left_out.begin()->first
                                      : std::to_string(checked.left_out.size());
}

}  // namespace

TEST_CASE("a device as vfrail serve makes it is published as it is") {
  const CheckedDevices checked = check_devices({with_taint(vf(1))});
  CHECK(checked.left_out.empty());
  REQUIRE(checked.devices.size() == 1);
  CHECK(checked.devices[0] == with_taint(vf(1)));
}

TEST_CASE("a firmware that is no semantic version costs its attribute, with the reason, and not the device") {
  Json odd = vf(1);
  odd.set("attributes", parsed(R"({"firmware":{"version":"20.39.0102"},"rdma":{"bool":true}})"));
  const CheckedDevices checked = check_devices({odd, vf(2)});
  REQUIRE(checked.devices.size() == 2);
  CHECK(checked.devices[0].find("attributes")->text() == R"({"rdma":{"bool":true}})");
  CHECK(checked.devices[1] == vf(2));
  REQUIRE(checked.left_out.size() == 1);
  CHECK_THAT(checked.left_out.begin()->first,
             Contains("attribute firmware") && Contains("20.39.0102") && Contains("semantic version"));
  CHECK(checked.left_out.begin()->second == std::vector<std::string>{"0000-3b-02-1"});
}

TEST_CASE("semantic versions are those of 2.0.0") {
  for (const char* good : {"20.39.1002", "0.0.0", "1.2.3-rc.1", "1.2.3-0a", "1.2.3+001", "1.2.3-a-b+b.2"})
    CHECK(is_semantic_version(good));
  for (const char* bad : {"", "20", "20.39", "20.39.0102", "v1.2.3", "1.2.3.4", "1.2.3-", "1.2.3-01",
                          "1.2.3+", "1.2.3.", "1..3", "1.2.3-a.", "1.2.3 ", "1.2.3.-a"})
    CHECK_FALSE(is_semantic_version(bad));
}

TEST_CASE("names of devices are DNS labels, and each is there once") {
  CHECK(check_devices({parsed(R"({"name":"0000:3b:02.1"})")}).devices.empty());
  CHECK(check_devices({Json("no object")}).devices.empty());
  CHECK_THAT(fault_of(parsed(R"({"name":"-a"})")), Contains("DNS label"));
  const CheckedDevices checked = check_devices({vf(1), vf(2), vf(1)});
  CHECK(checked.devices.size() == 2);
  CHECK_THAT(checked.left_out.begin()->first, Contains("another device has the same name"));
}

TEST_CASE("attributes that the API server refuses are left out") {
  CHECK_THAT(fault_of(device(R"("attributes":{"pf-name":{"string":"a"}})")), Contains("identifier"));
  CHECK_THAT(fault_of(device(R"("attributes":{"Vfrail_/a":{"string":"a"}})")), Contains("identifier"));
  CHECK_THAT(fault_of(device(R"("attributes":{"a":{"string":"a","int":1}})")), Contains("exactly one"));
  CHECK_THAT(fault_of(device(R"("attributes":{"a":{"strings":["a"]}})")), Contains("strings"));
  CHECK_THAT(fault_of(device(R"("attributes":{"a":{"int":1.5}})")), Contains("whole number"));
  CHECK_THAT(fault_of(device(R"("attributes":{"a":{"string":")" + std::string(65, 'x') + R"("}})")),
             Contains("more than 64 bytes"));
  CHECK(check_devices({device(R"("attributes":{"a":{"string":")" + std::string(64, 'x') + R"("}})")})
            .left_out.empty());
  CHECK_THAT(fault_of(device(R"("capacity":{"bandwidth":{"value":"fast"}})")), Contains("quantity"));
  CHECK_THAT(fault_of(device(R"("capacity":{"a":{"value":"1","requestPolicy":{"default":"1"}}})")),
             Contains("allowMultipleAllocations"));
  CHECK_THAT(fault_of(device(R"("taints":[{"key":"vfrail.io/link","effect":"Maybe"}])")), Contains("Maybe"));
}

TEST_CASE("a device has at most 32 attributes and capacities, and 16 taints") {
  Json many = parsed(R"({"name":"a"})");
  Json attributes;
  for (int i = 0; i < 32; ++i) attributes.set("a" + std::to_string(i), Json::object().set("int", i));
  Json taints;
  for (int i = 0; i < 17; ++i)
    taints.push(parsed(R"({"key":"t)" + std::to_string(i) + R"(","effect":"NoSchedule"})"));
  many.set("attributes", attributes).set("capacity", parsed(R"({"b":{"value":"1"}})")).set("taints", taints);
  const CheckedDevices checked = check_devices({many});
  CHECK(checked.devices[0].find("attributes")->as_object()->size() == 32);
  CHECK(checked.devices[0].find("capacity") == nullptr);
  CHECK(checked.devices[0].find("taints")->as_array()->size() == 16);
  CHECK(checked.left_out.size() == 2);
}

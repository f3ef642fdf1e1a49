// cni/in_pod/facts/pod_description.h: pod.json, as vfrail-cni writes it, and what is refused of it.
#include "cni/in_pod/facts/pod_description.h"

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::pod;

namespace {

std::string refusal(const std::string& text) {
  const auto parsed = parse_pod_description(text);
  return parsed ? "" : parsed.error().text;
}

}  // namespace

TEST_CASE("pod.json has each interface, and null for what it has not") {
  const auto file = parse_pod_description(
      R"({"version":1,"container":"c1","pod":{"namespace":"a","name":"b"},"later":1,"interfaces":[
      {"name":"net1","network":"rail0","device":"0000:03:02.1","pf":null,"rdma":null,"uverbs":null,"link_layer":null,
       "mac":"02:00:00:00:00:01","mtu":9000,"addresses":["10.0.0.2/24","fd00::2/64"],"gid_index":null,"numa_node":0}]})");
  REQUIRE(file);
  REQUIRE(file->interfaces.size() == 1);
  const DescribedInterface& one = file->interfaces[0];
  CHECK(one.name == "net1");
  CHECK(one.rdma.empty());
  CHECK(one.mtu == 9000);
  CHECK(one.addresses.size() == 2);
  CHECK_FALSE(one.gid_index);
  CHECK(one.numa_node == 0U);
}

TEST_CASE("another version and values of another kind are refused by their key") {
  CHECK(refusal(R"({"version":2,"interfaces":[]})") == "version: is 2, and not 1");
  CHECK(refusal(R"({"interfaces":[]})") == "version: is missing");
  CHECK(refusal(R"({"version":1,"interfaces":[1]})") == "interfaces[0]: must be an object");
  CHECK(refusal(R"({"version":1,"interfaces":[{"mtu":1}]})") == "interfaces[0].name: is missing");
  CHECK(refusal(R"({"version":1,"interfaces":[{"name":"net1","addresses":["10.0.0.2"]}]})") ==
        "interfaces[0].addresses: \"10.0.0.2\" is not an address with a prefix length");
  CHECK(refusal("[]") != "");
  CHECK(refusal("{") != "");
}

// `vfrail convert`: what becomes of other plugins' networks is what vfrail-cni accepts, with every key.
#include "plugin/advise/convert.h"

#include "cni/conf/net_conf.h"

#include <catch2/catch.hpp>

namespace vfrail::test {
using namespace cni;
using namespace plugin;

TEST_CASE("a converted network of each plugin is accepted by vfrail-cni") {
  for (
      const char* text :
      {R"({"type":"host-device","cniVersion":"1.0.0","name":"n","ipam":{"type":"host-local","subnet":"10.56.0.0/24"}})",
       R"({"type":"sriov","cniVersion":"1.0.0","name":"n","vlan":100,"vlanQoS":2,"spoofchk":"off","trust":"on","min_tx_rate":10,"max_tx_rate":100,"link_state":"auto","logLevel":"debug"})",
       R"({"type":"ib-sriov","cniVersion":"1.0.0","name":"n","pkey":"0x8001","link_state":"enable"})"}) {
    INFO(text);
    const auto config = Json::parse(text);
    REQUIRE(config);
    auto made = convert_network(*config);
    REQUIRE(made);
    CHECK(*made->find("type")->as_text() == "vfrail");
    CHECK(made->as_object()->size() == config->as_object()->size());
    made->set("deviceID", "0000:3b:00.2");  // as Multus passes it
    const auto parsed = parse_net_conf(made->text());
    INFO((parsed ? "" : parsed.error().text));
    CHECK(parsed.ok());
  }
}

TEST_CASE("networks of other plugins are no business of convert") {
  for (const char* text :
       {R"({"type":"macvlan"})", R"({"plugins":[{"type":"rdma"},{"type":"bridge"}]})", "{}"})
    CHECK_FALSE(convert_network(*Json::parse(text)));
}

}  // namespace vfrail::test

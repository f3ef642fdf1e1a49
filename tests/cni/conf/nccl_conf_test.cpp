// cni/conf/nccl_conf.cpp: the variables of a network for NCCL, and what is refused.
#include "cni/conf/net_conf.h"
#include "common/errors/error_id.h"

#include <catch2/catch.hpp>

using namespace vfrail::cni;

namespace vfrail {
namespace {

using Catch::Contains;

Result<NetConf> parse(const std::string& nccl) {
  return parse_net_conf(R"({"cniVersion":"1.0.0","name":"rail0","type":"vfrail","nccl":)" + nccl + "}");
}

std::string reason(const std::string& nccl) {
  const auto conf = parse(nccl);
  REQUIRE_FALSE(conf);
  CHECK(conf.error().code == Errc::invalid);
  CHECK(conf.error().id() == ErrorId::network_config);
  return conf.error().text;
}

}  // namespace

TEST_CASE("variables of NCCL are taken as they are, in their order") {
  const auto conf = parse(R"({"NCCL_IB_TC":"106","NCCL_CROSS_NIC":"0 ","NCCL_DEBUG":""})");
  REQUIRE(conf);
  CHECK(conf->nccl == NcclVariables{{"NCCL_IB_TC", "106"}, {"NCCL_CROSS_NIC", "0 "}, {"NCCL_DEBUG", ""}});
  CHECK(conf->warnings.empty());
  CHECK(parse("null")->nccl.empty());
  CHECK(parse(R"({"NCCL_X":")" + std::string(1023, 'x') + "\"}"));
}

TEST_CASE("what is no variable of NCCL is refused by name") {
  CHECK_THAT(reason(R"({"GLOO_SOCKET_IFNAME":"eth0"})"),
             Contains("nccl.GLOO_SOCKET_IFNAME") && Contains("NCCL_IB_TC"));
  for (const char* name : {"NCCL_", "NCCL_ib_tc", "nccl_IB_TC", "NCCL_A=B", "NCCL_A B", "NCCL_A\\nX", ""})
    CHECK_THAT(reason(std::string("{\"") + name + "\":\"1\"}"), Contains("must be a variable of NCCL"));
}

TEST_CASE("what is no value of one line is refused") {
  CHECK_THAT(reason(R"({"NCCL_IB_TC":106})"), Contains("nccl.NCCL_IB_TC") && Contains("quotation marks"));
  CHECK_THAT(reason(R"({"NCCL_IB_TC":null})"), Contains("nccl.NCCL_IB_TC"));
  for (const char* value : {"1\\nNCCL_NET=x", "1\\r", "1\\u0000"})
    CHECK_THAT(reason(std::string(R"({"NCCL_IB_TC":")") + value + "\"}"), Contains("one line"));
  CHECK_THAT(reason(R"({"NCCL_X":")" + std::string(1024, 'x') + "\"}"), Contains("at most 1023 bytes"));
  CHECK_THAT(reason("[]"), Contains("nccl"));
}

TEST_CASE("there is a limit to the number of variables") {
  std::string many;
  for (int i = 0; i < 65; ++i) many += (i == 0 ? "\"NCCL_" : ",\"NCCL_") + std::to_string(i) + "\":\"\"";
  CHECK_THAT(reason("{" + many + "}"), Contains("at most 64") && Contains("65"));
}

TEST_CASE("a misspelt nccl is a warning that names it") {
  const auto conf = parse_net_conf(R"({"cniVersion":"1.0.0","name":"rail0","type":"vfrail","ncll":{}})");
  REQUIRE(conf);
  REQUIRE(conf->warnings.size() == 1);
  CHECK_THAT(conf->warnings[0], Contains("\"nccl\" is probably meant"));
}

}  // namespace vfrail

// GC: what it needs of the configuration, and which IPAM plugins are asked.
#include "cni/verbs/status.h"
#include "tests/cni/fake_node.h"

#include <filesystem>

namespace vfrail::test {
using namespace cni;
namespace {

using Catch::Contains;

constexpr const char* kConf =
    R"({"cniVersion":"1.1.0","name":"rail0","type":"vfrail","deviceID":"0000:21:10.0"})";

std::string collect_all(const std::string& keys = "") {
  return R"({"cniVersion":"1.1.0","name":"rail0","type":"vfrail","cni.dev/valid-attachments":[])" + keys +
         "}";
}

struct GcNode : TwoVfs {
  GcNode() {
    before = world.snapshot();
    REQUIRE(add(kConf));
  }
  Result<> gc(const std::string& config) { return run(vfrail::cni::gc, Command::gc, config); }
  // Answers VERSION, and has a file "asked" for each other verb.
  void install_versioned_ipam(const std::string& answer) const {
    install_ipam("fake-ipam", "case $CNI_COMMAND in\nVERSION) " + answer +
                                  " ;;\n*) echo $CNI_COMMAND >> $node/asked; exit 1 ;;\nesac");
  }

  std::string before;
};

}  // namespace

TEST_CASE("GC needs the name of the network and the valid attachments, and no other key") {
  const std::string keys =
      GENERATE(R"(,"ipam":{"type":5})", R"(,"ipam":"x")", R"(,"dns":"x")", R"(,"mtu":"1450")",
               R"(,"vlanTrunk":5)", R"(,"deviceID":"nonsense","prevResult":5)");
  CAPTURE(keys);
  GcNode node;
  const auto done = node.gc(collect_all(keys));
  INFO((done ? "" : done.error().text));
  CHECK(done);
  CHECK(node.world.snapshot() == node.before);
  CHECK(node.no_state());
}

TEST_CASE("GC without a network's name, or with a list that cannot be read, releases nothing") {
  const auto [config, word] = GENERATE(table<std::string, std::string>(
      {{R"({"cniVersion":"1.1.0","cni.dev/valid-attachments":[]})", "name"},
       {R"({"cniVersion":"1.1.0","name":"rail0","cni.dev/valid-attachments":[5]})", "valid-attachments[0]"},
       {R"({"cniVersion":"1.1.0","name":"rail0","cni.dev/valid-attachments":{}})", "valid-attachments"}}));
  GcNode node;
  const auto done = node.gc(config);
  REQUIRE_FALSE(done);
  CHECK(done.error().code == Errc::invalid);
  CHECK_THAT(done.error().text, Contains(word));
  CHECK_FALSE(node.no_state());
}

TEST_CASE("An IPAM plugin from before CNI 1.1 is asked neither GC nor STATUS, and what is ours is released") {
  const std::string old =
      GENERATE(R"(echo '{"cniVersion":"1.0.0","supportedVersions":["0.3.1","0.4.0","1.0.0"]}')",
               R"(echo '{"code":4,"msg":"unknown CNI_COMMAND: VERSION"}'; exit 1)");
  CAPTURE(old);
  GcNode node;
  node.install_versioned_ipam(old);
  const std::string config = collect_all(R"(,"ipam":{"type":"fake-ipam"})");
  const auto done = node.gc(config);
  INFO((done ? "" : done.error().text));
  CHECK(done);
  CHECK(node.world.snapshot() == node.before);
  CHECK(node.no_state());
  CHECK(node.run(vfrail::cni::status, Command::status, config));
  CHECK(node.text("asked").empty());
}

TEST_CASE("An IPAM plugin that has CNI 1.1, or does not say, is asked GC and STATUS, and its error is GC's") {
  const std::string answer =
      GENERATE(R"(echo '{"cniVersion":"1.1.0","supportedVersions":["1.0.0","1.1.0"]}')", ":", "exit 1");
  CAPTURE(answer);
  GcNode node;
  node.install_versioned_ipam(answer);
  const std::string config = collect_all(R"(,"ipam":{"type":"fake-ipam"})");
  CHECK_FALSE(node.gc(config));
  CHECK(node.world.snapshot() == node.before);
  CHECK_FALSE(node.run(vfrail::cni::status, Command::status, config));
  CHECK(node.text("asked") == "GC\nSTATUS\n");
}

}  // namespace vfrail::test

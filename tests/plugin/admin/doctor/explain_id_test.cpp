// plugin/admin/doctor/explain_id.h: `vfrail explain`, by ids and by the reasons of metrics.
#include "plugin/admin/doctor/explain_id.h"

#include "common/errors/error_id.h"
#include "common/json.h"
#include "plugin/admin/doctor/explain_search.h"
#include "plugin/device/match/pools.h"
#include "tests/plugin/admin/report/run.h"
#include "tests/support/json_schema.h"
#include "tests/support/places.h"

#include <set>
#include <tuple>

#include <catch2/catch.hpp>

namespace vfrail::test {
using namespace plugin;
namespace {

using Catch::Contains;

Run explained(const std::string& id, bool json = false) {
  return run([&] { return explain(ExplainIdOptions{.id = id, .json = json}); });
}

std::string schema() { return test::source_text("plugin/admin/report/schema.json"); }

}  // namespace

TEST_CASE("explain says symptom, cause and remedy of an id, in lines as wide as the terminal") {
  const Run one = explained("vf-device-in-use");
  CHECK(one.code == 0);
  CHECK_THAT(one.out, Contains("VF-DEVICE-IN-USE\n") && Contains("\n  Symptom: ") &&
                          Contains("\n  Cause:   ") && Contains("\n  Remedy:  ") &&
                          Contains("\n           "));
  for (size_t at = 0; at < one.out.size();) {
    const size_t end = one.out.find('\n', at);
    CHECK(end - at <= 80);
    at = end + 1;
  }
}

TEST_CASE("explain without an id lists all of them") {
  const Run all = explained("");
  CHECK(all.code == 0);
  for (const ErrorRow* row : all_errors()) CHECK_THAT(all.out, Contains(std::string(row->name)));
}

TEST_CASE("explain takes the reasons of metrics, and one that two metrics have is two ids") {
  for (auto code = FaultCode::port_down; code <= kLastFaultCode;
       code = static_cast<FaultCode>(static_cast<uint8_t>(code) + 1)) {
    INFO(name_of(code));
    CHECK_THAT(explained(name_of(code)).out, Contains(id_text(id_of(code))));
  }
  for (auto kind = LeftOut::Kind::has_vfs; kind <= kLastLeftOutKind;
       kind = static_cast<LeftOut::Kind>(static_cast<uint8_t>(kind) + 1)) {
    INFO(name_of(kind));
    CHECK_THAT(explained(name_of(kind)).out, Contains(id_text(id_of(kind))));
  }
  CHECK_THAT(explained("not_selected").out, Contains("VF-NOT-SELECTED") && Contains("VF-NO-LONGER-SELECTED"));
}

TEST_CASE("each reason of an unhealthy device has an id of its own") {
  std::set<ErrorId> seen;
  for (auto code = FaultCode::port_down; code <= kLastFaultCode;
       code = static_cast<FaultCode>(static_cast<uint8_t>(code) + 1))
    CHECK(seen.insert(id_of(code)).second);
}

TEST_CASE("explain of another word names the id that is meant, and exits with 1") {
  const Run typo = explained("VF-DEVICE-IN-USS");
  CHECK(typo.code == 1);
  CHECK(typo.out.empty());
  CHECK_THAT(typo.err, Contains("\"VF-DEVICE-IN-USE\" is probably meant"));
}

TEST_CASE("explain in JSON is as the schema says") {
  for (const char* id : {"", "VF-DEVICE-IN-USE"}) {
    const Run result = explained(id, true);
    CHECK(test::schema_violation(schema(), result.out) == "");
    const auto json = Json::parse(result.out);
    REQUIRE(json);
    CHECK(json->find("errors")->as_array()->size() == (*id == 0 ? all_errors().size() : 1));
  }
}

TEST_CASE("the id of a check is explained by what it checks, its cause and its remedy, of pods too") {
  for (const char* id : {"VF-N04", "n04"}) {
    const auto text = explain_id({.id = id}, 0);
    REQUIRE(text);
    CHECK(text->starts_with("VF-N04 rdma-netns-mode is a check of the node"));
  }
  const Run node = explained("VF-N36");
  CHECK(node.code == 0);
  CHECK_THAT(node.out, Contains("  Cause:   memlock of") && Contains("  Remedy:  `memlock` in the resource"));
  for (const char* id : {"VF-P10", "p10"}) {
    const Run pod = explained(id);
    CHECK(pod.code == 0);
    CHECK_THAT(pod.out, Contains("VF-P10 is a check of a pod") && Contains("  Remedy:  `memlock` of the"));
  }
  const Run json = explained("VF-P10", true);
  CHECK(test::schema_violation(schema(), json.out) == "");
  CHECK_THAT(json.out, Contains("\"VF-P10\""));
}

TEST_CASE("messages of other programs are explained, whole and in part, with their ids") {
  for (const char* text : {"Couldn't allocate MR", "couldn't allocate mr", "Call to ibv_reg_mr failed",
                           "ulimit -l", "x: UCX ERROR ibv_create_qp(...) failed: Cannot allocate memory"}) {
    INFO(text);
    const Run one = explained(text);
    CHECK(one.code == 0);
    CHECK_THAT(
        one.out.substr(0, one.out.find("\n\n")),
        Contains("  Cause:   The process may lock (pin) too") && Contains("  See:     VF-P10, VF-N36"));
  }
  CHECK_THAT(explained("Call to ibv_reg_mr failed").out, Contains("\"Call to ibv_reg_mr failed\" ("));
  CHECK_THAT(explained("SIGSEGV").out, Contains("\"unhandled system error\" (NCCL)") && Contains("VF-P10"));
  CHECK_THAT(explained("memlock").out,
             Contains("Couldn't allocate MR") && Contains("VF-N36 memlock") && Contains("VF-P10"));
  const Run json = explained("Couldn't allocate MR", true);
  CHECK(test::schema_violation(schema(), json.out) == "");
  const auto parsed = Json::parse(json.out);
  REQUIRE(parsed);
  CHECK(parsed->find("errors")->as_array()->empty());
  CHECK(parsed->find("symptoms")->as_array()->size() == 1);
}

TEST_CASE("four logs of one cluster are explained by their causes") {
  for (const auto& [log, title, words] : std::vector<std::tuple<const char*, const char*, const char*>>{
           {"mr_refused", "\"Couldn't allocate MR\"", "IPC_LOCK"},
           {"nccl_crash", "\"transport/net_ib... -> 6\"", "IPC_LOCK"},
           {"port_down", "\"Port number ... state is Down\"", "Disabled:"},
           {"device_not_found", "\"IB device ... not found\"", "resource"}}) {
    INFO(log);
    const Run one = explained(test::source_text("tests/data/logs/" + std::string(log) + ".txt"));
    CHECK(one.code == 0);
    CHECK(one.out.starts_with(title));
    CHECK_THAT(one.out, Contains(words));
  }
}

TEST_CASE("an id in a message is explained before what the message is about") {
  const Run one = explained("error adding container to network \"ib\": x is in use [VF-DEVICE-IN-USE]");
  CHECK(one.out.starts_with("VF-DEVICE-IN-USE\n"));
  CHECK_THAT(one.out, Contains("\"error adding container to network\""));
}

TEST_CASE("words are searched in all that explain knows, best first, and five answers are enough") {
  const auto titles = [](const std::string& text) {
    std::vector<std::string> out;
    const auto found = search_explained(text);
    for (const Explained& one : found)
      out.emplace_back(one.symptom != nullptr ? one.message
                       : one.check != nullptr ? one.check->id
                                              : one.error->name);
    return out;
  };
  CHECK(titles("memlock").front() == "Couldn't allocate MR");
  CHECK(titles("device").size() == 5);
  CHECK(titles("ipam timeout").front() == "VF-IPAM-TIMEOUT");
  CHECK(titles("hugepages").front() == "VF-N41");
  // With three words and more most of them are enough.
  CHECK(titles("quorum sensing hugepages huge pages").front() == "VF-N41");
  CHECK(titles("quorum sensing").empty());
  CHECK(titles("").empty());
  CHECK(titles("1 22 333 .").empty());
  CHECK(titles(std::string(5'000'000, 'x')).empty());
}

TEST_CASE("an answer to a message that is not known says that it may be about something else") {
  const Run guess = explained("quorum sensing hugepages huge pages");
  CHECK(guess.code == 0);
  CHECK(guess.out.starts_with("That message is not known."));
  const Run json = explained("quorum sensing hugepages huge pages", true);
  CHECK(test::schema_violation(schema(), json.out) == "");
  CHECK_THAT(json.out, Contains("\"guessed\": true"));
  // All words, but of several messages.
  CHECK(explained(" Unable to create QP.").out.starts_with("That message is not known."));
  for (const char* known : {"memlock", "hugepages", "ipam timeout", "Couldn't allocate MR", "VF-P10"}) {
    CHECK_THAT(explained(known).out, !Contains("not known"));
    CHECK_THAT(explained(known, true).out, Contains("\"guessed\": false"));
  }
  // The words of a log make no answer.
  CHECK(explained("epoch 1 loss 2.31\nsaving hugepages of the huge pages\nepoch 2").code == 1);
}

TEST_CASE("a text of which nothing is known is an error that says what can be searched") {
  const Run one = explained("quux sensing");
  CHECK(one.code == 1);
  CHECK(one.out.empty());
  CHECK_THAT(one.err, Contains("messages of NCCL, UCX, perftest, kubelet"));
}

}  // namespace vfrail::test

// plugin/admin/doctor/explain_id.h: `vfrail explain`, by ids and by the reasons of metrics.
#include "plugin/admin/doctor/explain_id.h"

#include "common/errors/error_id.h"
#include "common/json.h"
#include "plugin/device/match/pools.h"
#include "tests/plugin/admin/report/run.h"
#include "tests/support/json_schema.h"
#include "tests/support/places.h"

#include <set>

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

TEST_CASE("the id of a check of doctor is explained by what it checks") {
  for (const char* id : {"VF-N04", "n04"}) {
    const auto text = explain_id({.id = id}, 0);
    REQUIRE(text);
    CHECK(text->starts_with("VF-N04 rdma-netns-mode is a check of the node"));
  }
  const auto json = explain_id({.id = "VF-N04", .json = true}, 0);
  REQUIRE_FALSE(json);
  CHECK(json.error().text == "VF-N04 is a check of the node, no error: see vfrail doctor -o json");
}

TEST_CASE("the id of a check of a pod leads to the program that explains it") {
  for (const char* id : {"VF-P07", "p07"}) {
    const auto text = explain_id({.id = id}, 0);
    REQUIRE_FALSE(text);
    CHECK(text.error().text == "VF-P07 is a check of a pod, no error: see vfrail-check explain VF-P07");
  }
}

}  // namespace vfrail::test

// cni/protocol.h: what each verb is answered to each state of its input.
#include "cni/protocol.h"

#include "cni/conf/result.h"
#include "common/json.h"

#include <cerrno>

#include <catch2/catch.hpp>

using namespace vfrail::cni;
using namespace std::string_literals;

namespace vfrail {
namespace {

constexpr const char* kVerbs[] = {"ADD", "DEL", "CHECK", "GC", "STATUS", "VERSION"};

struct Input {
  std::string what;
  Result<std::string> text = std::string(R"({"cniVersion":"1.1.0","name":"rail0","type":"vfrail"})");
  Environment variables = {};  // "-" removes one
};

Result<std::string> with(const std::string& keys) {
  return R"({"name":"rail0","type":"vfrail","cniVersion":"1.1.0",)" + keys + "}";
}

Call call_of(const std::string& verb, const Input& input) {
  Environment environment{{"CNI_COMMAND", verb},
                          {"CNI_CONTAINERID", "c1"},
                          {"CNI_NETNS", "/run/netns/a"},
                          {"CNI_IFNAME", "net1"},
                          {"CNI_PATH", "/opt/cni/bin"}};
  for (const auto& [name, value] : input.variables) environment[name] = value;
  std::erase_if(environment, [](const auto& variable) { return variable.second == "-"; });
  return read_call(environment, has_configuration(environment) ? input.text : std::string());
}

// "run": the verb is. "nothing": the exit code is 0, and stdout empty. "versions". Else the code of an error,
// with which the exit code is 1.
std::string answer(const std::string& verb, const Input& input) {
  const auto reply = reply_to(call_of(verb, input));
  if (!reply) return "run";
  if (reply->text.empty()) return reply->status == 0 ? "nothing" : "a silent failure";
  const Json json = *Json::parse(reply->text);
  if (json.find("supportedVersions") != nullptr && reply->status == 0) return "versions";
  return reply->status == 1 ? json.find("code")->text() : "an error that succeeds";
}

std::string version_of(const Reply& reply) { return *Json::parse(reply.text)->find("cniVersion")->as_text(); }

const Error kTooLong{Errc::invalid, 0, "more than the 1048576 bytes allowed"};
const std::string kDeep = std::string(64, '[') + std::string(64, ']');

struct Row {
  Input input;
  const char* answers[6];
};

// clang-format off
const Row kRows[] = {
    //                                                           ADD    DEL        CHECK  GC         STATUS VERSION
    {{"accepted"},                                              {"run", "run",     "run", "run",     "run", "versions"}},
    {{"of 0.4.0", R"({"cniVersion":"0.4.0","name":"a"})"s},     {"run", "run",     "run", "1",       "1",   "versions"}},
    {{"without a version", R"({"name":"a"})"s},                 {"run", "run",     "1",   "1",       "1",   "versions"}},
    {{"of no known version", R"({"cniVersion":"2.0.0"})"s},     {"1",   "run",     "1",   "1",       "1",   "versions"}},
    {{"that cannot be read", Error::from_errno(EIO, "")},       {"103", "103",     "103", "103",     "103", "versions"}},
    {{"that is too long", kTooLong},                            {"5",   "run",     "5",   "5",       "5",   "versions"}},
    {{"empty", ""s},                                            {"6",   "run",     "6",   "6",       "6",   "versions"}},
    {{"no JSON", "{ torn"s},                                    {"6",   "run",     "6",   "6",       "6",   "versions"}},
    {{"JSON beyond a limit", with("\"x\":" + kDeep)},           {"7",   "run",     "7",   "7",       "7",   "versions"}},
    {{"with a number as name", R"({"cniVersion":"1.1.0","name":5})"s},
                                                                {"6",   "run",     "6",   "6",       "6",   "versions"}},
    // A version that is no text counts as 0.1.0.
    {{"with a number as version", R"({"cniVersion":1.1})"s},    {"6",   "run",     "1",   "1",       "1",   "versions"}},
    {{"with a value that is refused", with("\"mtu\":5")},       {"7",   "run",     "7",   "run",     "7",   "versions"}},
    {{"with a key that is refused", with("\"vlanTrunk\":5")},   {"2",   "run",     "2",   "run",     "2",   "versions"}},
    {{"with half a character", with(R"("x":"\ud800")")},        {"run", "run",     "run", "run",     "run", "versions"}},
    {{"without CNI_PATH, and with bad arguments", "{}"s, {{"CNI_PATH", "-"}, {"CNI_ARGS", "x"}}},
                                                                {"4",   "4",       "4",   "4",       "4",   "versions"}},
    {{"for a name that ADD refuses", with("\"mtu\":1500"), {{"CNI_IFNAME", "all"}}},
                                                                {"4",   "nothing", "4",   "run",     "run", "versions"}},
    {{"of an unknown verb", "{}"s, {{"CNI_COMMAND", "MOVE"}}},  {"4",   "4",       "4",   "4",       "4",   "4"}},
    {{"of no verb", "{}"s, {{"CNI_COMMAND", "-"}}},             {"4",   "4",       "4",   "4",       "4",   "4"}},
    {{"from vfrail itself", "{}"s, {{"VFRAIL_DELEGATED", "1"}}},
                                                                {"7",   "nothing", "7",   "nothing", "7",   "versions"}},
    // Of two findings the first in the order of Finding counts.
    {{"from vfrail itself, no JSON", "{ torn"s, {{"VFRAIL_DELEGATED", "1"}}},
                                                                {"7",   "nothing", "7",   "nothing", "7",   "versions"}},
    {{"from vfrail itself, too long", kTooLong, {{"VFRAIL_DELEGATED", "1"}}},
                                                                {"5",   "nothing", "5",   "5",       "5",   "versions"}},
    {{"too long, without CNI_PATH", kTooLong, {{"CNI_PATH", "-"}}},
                                                                {"5",   "4",       "5",   "5",       "5",   "versions"}},
    {{"of no known version, with a key that is refused", R"({"cniVersion":"2.0.0","vlanTrunk":5})"s},
                                                                {"1",   "run",     "1",   "1",       "1",   "versions"}},
};
// clang-format on

}  // namespace

TEST_CASE("Each verb has one answer to each state of its input") {
  for (const Row& row : kRows) {
    for (size_t i = 0; i < std::size(kVerbs); ++i) {
      INFO(kVerbs[i] << ", a call " << row.input.what);
      CHECK(answer(kVerbs[i], row.input) == row.answers[i]);
    }
  }
}

TEST_CASE("Each cell of the protocol's table is one that it can have") {
  for (int finding = 0; finding <= static_cast<int>(Finding::accepted); ++finding) {
    for (int command = 0; command <= static_cast<int>(Command::version); ++command) {
      CAPTURE(finding, command);
      const Answer cell = answer_to(static_cast<Finding>(finding), static_cast<Command>(command));
      const bool is_last = static_cast<Finding>(finding) == Finding::accepted;
      const bool is_version = static_cast<Command>(command) == Command::version;
      CHECK((cell == Answer::run) == (is_last && !is_version));
      CHECK((cell == Answer::versions) == (is_last && is_version));
    }
  }
}

TEST_CASE("An error is in the configuration's version, and in the newest if that was not read") {
  CHECK(version_of(*reply_to(call_of("ADD", {"", R"({"cniVersion":"0.3.1","name":""})"s}))) == "0.3.1");
  CHECK(version_of(*reply_to(call_of("ADD", {"", "{ torn"s}))) == "0.1.0");
  CHECK(version_of(*reply_to(call_of("ADD", {"", kTooLong}))) == "1.1.0");
}

TEST_CASE("DEL of a name that ADD refuses leaves a remark for the log, one from vfrail itself does not") {
  const auto never = reply_to(call_of("DEL", {.what = "", .variables = {{"CNI_IFNAME", "all"}}}));
  REQUIRE(never);
  CHECK_THAT(never->remark, Catch::Contains("CNI_IFNAME \"all\""));
  const auto nested = reply_to(call_of("DEL", {.what = "", .variables = {{"VFRAIL_DELEGATED", "1"}}}));
  REQUIRE(nested);
  CHECK(nested->remark.empty());
}

TEST_CASE("A verb that fails has the code of its error, and STATUS 50 unless a peer has another") {
  const auto code = [](const char* verb, const Error& error) {
    const Reply reply = reply_to_failure(call_of(verb, {}), error);
    CHECK(reply.status == 1);
    return Json::parse(reply.text)->find("code")->text();
  };
  CHECK(code("ADD", {Errc::invalid, 0, "x"}) == "7");
  CHECK(code("ADD", {Errc::busy, 0, "x"}) == "11");
  CHECK(code("STATUS", {Errc::busy, 0, "x"}) == "50");
  CHECK(code("STATUS", {Errc::peer, 51, "x"}) == "51");
}

}  // namespace vfrail

#include "common/container/cdi_outline.h"

#include <catch2/catch.hpp>

using namespace vfrail;

namespace {

Json parsed(const char* text) {
  auto out = Json::parse(text);
  REQUIRE(out);
  return *std::move(out);
}

}  // namespace

TEST_CASE("the outline of a CDI spec has kind, names and hooks, and nothing else") {
  const Json spec = parsed(R"({"cdiVersion":"0.5.0","kind":"a.com/gpu","annotations":{"a":"b"},
    "containerEdits":{"env":["TOKEN=secret"],"hooks":[{"hookName":"createContainer","path":"/usr/bin/all","args":["secret"]}]},
    "devices":[{"name":"0","containerEdits":{"deviceNodes":[{"path":"/dev/a"}],"hooks":[{"path":"/usr/bin/one"}]}},{"name":"1"}]})");
  CHECK(hooks_of(spec) == std::vector<std::string>{"/usr/bin/all", "/usr/bin/one"});
  const Json outline = outline_of(spec);
  CHECK(outline == parsed(R"({"kind":"a.com/gpu","containerEdits":{"hooks":[{"path":"/usr/bin/all"}]},
    "devices":[{"name":"0","containerEdits":{"hooks":[{"path":"/usr/bin/one"}]}},{"name":"1","containerEdits":{"hooks":[]}}]})"));
  CHECK(hooks_of(outline) == hooks_of(spec));
}

TEST_CASE("the path of a hook leads out of no root") {
  for (const auto& [written, path] : {std::pair{"/../../etc/shadow", "/etc/shadow"},
                                      {"/usr/bin/../lib/hook", "/usr/lib/hook"},
                                      {"/./usr//bin/hook", "/usr/bin/hook"}}) {
    const Json spec = Json::object().set(
        "containerEdits",
        Json::object().set("hooks", Json::array().push(Json::object().set("path", written))));
    CHECK(hooks_of(spec) == std::vector<std::string>{path});
  }
}

TEST_CASE("a CDI spec whose parts have other types has no hooks, and an outline all the same") {
  for (const char* text : {"{}", "[]", "null", R"({"kind":1,"devices":{},"containerEdits":[]})",
                           R"({"devices":[1,null,{"containerEdits":{"hooks":[1,{"path":2}]}}]})"}) {
    CAPTURE(text);
    const Json spec = parsed(text);
    for (const std::string& hook : hooks_of(spec)) CHECK(hook.empty());
    CHECK(outline_of(outline_of(spec)) == outline_of(spec));
  }
}

#include "plugin/observe/status/remarks.h"

#include "tests/support/temp_dir.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;

namespace {

constexpr Remarks::Time kStart{};

struct Written {
  test::TempDir folder;
  Log log;
  Remarks remarks;
  Written() { REQUIRE(log.open_file(folder.path("log"))); }

  // How many lines that adds to the log.
  long set(const std::vector<std::string>& now, std::chrono::seconds at, const std::string& topic = "node") {
    const long before = lines();
    std::vector<Warning> warnings;
    for (const std::string& text : now) warnings.push_back({text, ErrorId::config_doubtful});
    remarks.set(topic, warnings, kStart + at, LogLevel::warning, log);
    return lines() - before;
  }
  std::string text() const {
    std::ifstream file(folder.path("log"));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  long lines() const {
    const std::string all = text();
    return std::count(all.begin(), all.end(), '\n');
  }
};

}  // namespace

TEST_CASE("a remark is logged when it begins to hold, and again when it recurs") {
  using namespace std::chrono_literals;
  Written log;
  CHECK(log.set({"a", "b"}, 0s) == 2);
  CHECK(log.set({"a", "b"}, 1000s) == 0);
  CHECK(log.set({"a"}, 1001s) == 0);
  CHECK(log.set({"a", "b"}, 1002s) == 1);
  CHECK(log.set({"a"}, 1002s, "other") == 1);
  CHECK(log.set({}, 2000s) == 0);
  CHECK(log.set({"a"}, 3000s) == 1);
  // Soon after it was written it waits, and is written as soon as the minute is over.
  CHECK(log.set({}, 3001s) == 0);
  CHECK(log.set({"a"}, 3002s) == 0);
  CHECK(log.set({"a"}, 3070s) == 1);
  CHECK(log.set({"a"}, 3170s) == 0);
}

TEST_CASE("a remark that flaps is logged once a minute") {
  using namespace std::chrono_literals;
  Written log;
  long written = 0;
  for (int second = 0; second < 180; ++second)
    written += second % 2 == 0 ? log.set({"a"}, std::chrono::seconds{second})
                               : log.set({}, std::chrono::seconds{second});
  CHECK(written == 3);
}

TEST_CASE("remarks beyond the limit are counted, and there is room again when others end") {
  using namespace std::chrono_literals;
  Written log;
  std::vector<std::string> many;
  for (size_t i = 0; i < Remarks::kMost + 5; ++i) many.push_back("remark " + std::to_string(i));
  CHECK(log.set(many, 0s) == static_cast<long>(Remarks::kMost) + 1);
  CHECK(log.text().find("and 5 more of this kind topic=node") != std::string::npos);
  CHECK(log.set(many, 1s) == 0);
  CHECK(log.set({}, 100s) == 0);
  CHECK(log.set({"another"}, 101s) == 1);
}

TEST_CASE("resource, device and id of a remark are fields of its line, and not in its message") {
  const test::TempDir folder;
  Log log;
  REQUIRE(log.open_file(folder.path("log")));
  log.set_format(LogFormat::json);
  Remarks().set("node",
                {{"it is odd", ErrorId::admin_down, "rdma/hca", "0000:3b:00.0"},
                 {"this too", ErrorId::host_not_visible}},
                Remarks::Time(), LogLevel::warning, log);
  std::ifstream file(folder.path("log"));
  std::string line;
  REQUIRE(std::getline(file, line));
  CHECK(line.ends_with(
      R"("msg":"it is odd","resource":"rdma/hca","device":"0000:3b:00.0","id":"VF-ADMIN-DOWN"})"));
  REQUIRE(std::getline(file, line));
  CHECK(line.ends_with(R"("msg":"this too","id":"VF-HOST-NOT-VISIBLE"})"));
}

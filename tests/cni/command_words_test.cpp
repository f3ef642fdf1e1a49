// common/command/command_words.h: flags as other programs take them.
#include "common/command/command_words.h"

#include "cni/command_line.h"

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::cni;

namespace {

const CommandText& command(const char* name) {
  static const CommandText program = command_line_text();
  const CommandText* found = find_command(program, name);
  REQUIRE(found != nullptr);
  return *found;
}

std::string refusal(const char* name, const std::vector<std::string>& words) {
  const auto read = read_words(command(name), words);
  return read ? "" : read.error().text;
}

}  // namespace

TEST_CASE("A value is the next argument or follows an equals sign") {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"--as", "sriov", "/opt"},
                                                {"/opt", "--as=sriov"},
                                                {"--as=sriov", "--", "/opt"}}) {
    const auto read = read_words(command("install"), words);
    REQUIRE(read);
    CHECK(read->options.at("--as") == "sriov");
    CHECK(read->arguments == std::vector<std::string>{"/opt"});
  }
  CHECK(read_words(command("install"), {"--", "--as"})->arguments == std::vector<std::string>{"--as"});
  CHECK(read_words(command("sweep"), {"--dry-run", "--adopt"})->options.size() == 2);
}

TEST_CASE("Missing, superfluous and misspelt arguments are reported") {
  CHECK(refusal("install", {}) == "DIR is missing");
  CHECK(refusal("install", {"a", "b"}) == "\"b\" is one argument too many");
  CHECK(refusal("install", {"a", "--as"}) == "--as needs a value: NAME");
  CHECK(refusal("sweep", {"--dry-run=yes"}) == "--dry-run takes no value");
  CHECK(refusal("sweep", {"--dryrun"}) ==
        "\"--dryrun\" is not an option of sweep; \"--dry-run\" is probably meant");
  CHECK(refusal("sweep", {"--now"}) == "\"--now\" is not an option of sweep");
  CHECK(refusal("install", {"-h"}).empty());
}

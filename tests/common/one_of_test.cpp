#include "common/one_of.h"

#include <catch2/catch.hpp>

using namespace vfrail;

TEST_CASE("a word that is none of those allowed is answered with them, and with the nearest") {
  CHECK(must_be_one_of({"on", "off"}, "true") == "must be one of on, off, got \"true\"");
  CHECK(must_be_one_of({"auto", "require", "off"}, "Requires") ==
        "must be one of auto, require, off, got \"Requires\"; did you mean \"require\"?");
  CHECK(must_be_one_of({"auto"}, "") == "must be one of auto, got \"\"");
}

TEST_CASE("a long word is cut, also within a character of UTF-8") {
  CHECK(must_be_one_of({"a"}, std::string(1000, 'x')) ==
        "must be one of a, got \"" + std::string(60, 'x') + "\"");
  CHECK(must_be_one_of({"a"}, std::string(59, 'x') + "\u00e9") ==
        "must be one of a, got \"" + std::string(59, 'x') + "\ufffd\"");
}

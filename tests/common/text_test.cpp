// common/text.h: what messages are made of.
#include "common/text.h"

#include "common/escape.h"
#include "common/json.h"

#include <catch2/catch.hpp>

namespace vfrail {

TEST_CASE("A text is split at any of the separators, without empty parts") {
  using Texts = std::vector<std::string>;
  CHECK(split("1 2\t 3\n", " \t\n") == Texts{"1", "2", "3"});
  CHECK(split("", "\n").empty());
  CHECK(split("\n\n", "\n").empty());
  CHECK(split("one", "\n") == Texts{"one"});
}

TEST_CASE("Texts are joined with a separator") {
  CHECK(joined({}).empty());
  CHECK(joined({"a"}) == "a");
  CHECK(joined({"a", "b", "c"}) == "a, b, c");
  CHECK(joined({"a", "b"}, "+") == "a+b");
}

TEST_CASE("A DNS label has at most 63 of a-z, 0-9 and -, and no - at an end") {
  for (const char* good : {"a", "0", "a-b", "0000-3b-02-1"}) CHECK(is_dns_label(good));
  CHECK(is_dns_label(std::string(63, 'a')));
  for (const char* bad : {"", "-a", "a-", "A", "a.b", "a_b", "\xC3\xA9"}) CHECK_FALSE(is_dns_label(bad));
  CHECK_FALSE(is_dns_label(std::string(64, 'a')));
}

TEST_CASE("A DNS subdomain is such labels between dots, and the whole has the limit") {
  for (const char* good : {"a", "vfrail.io", "a.b-c.0"}) CHECK(is_dns_subdomain(good, 63));
  for (const char* bad : {"", ".", "a.", ".a", "a..b", "a.-b", "a-.b", "Vfrail.io"}) {
    INFO(bad);
    CHECK_FALSE(is_dns_subdomain(bad, 63));
  }
  CHECK(is_dns_subdomain(std::string(70, 'a'), 253));
  CHECK_FALSE(is_dns_subdomain("vfrail.io", 8));
}

TEST_CASE("Valid UTF-8 stays unchanged") {
  const std::string text = GENERATE(as<std::string>(), "", "plain", "\x7f\n", "\xC2\x80", "\xDF\xBF",
                                    "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEF\xBF\xBF", "\xF0\x90\x80\x80",
                                    "\xF4\x8F\xBF\xBF", std::string("a\0b", 3));
  CHECK(well_formed(text) == text);
  CHECK(is_utf8(text));
}

TEST_CASE("Each invalid byte of UTF-8 is replaced, and its neighbours stay") {
  const std::string r = "\xEF\xBF\xBD";
  const auto [text, out] =
      GENERATE_COPY(table<std::string, std::string>({{"a\xff"
                                                      "b",
                                                      "a" + r + "b"},
                                                     {"cut \xC3", "cut " + r},
                                                     {"cut \xF0\x9F\x98", "cut " + r + r + r},
                                                     {"\x80", r},
                                                     {"\xC0\x80", r + r},
                                                     {"\xC1\xBF", r + r},
                                                     {"\xE0\x9F\xBF", r + r + r},
                                                     {"\xED\xA0\x80", r + r + r},
                                                     {"\xF0\x8F\xBF\xBF", r + r + r + r},
                                                     {"\xF4\x90\x80\x80", r + r + r + r},
                                                     {"\xF5\x80\x80\x80", r + r + r + r},
                                                     {"\xC3(", r + "("}}));
  CHECK(well_formed(text) == out);
  CHECK_FALSE(is_utf8(text));
}

TEST_CASE("What we accept as UTF-8 the JSON parser accepts, too") {
  for (unsigned value = 0; value < 1U << 16U; ++value) {
    const std::string text{static_cast<char>(value >> 8U), static_cast<char>(value & 0xFFU)};
    if (bool(Json::parse(Json(text).text())) != (well_formed(text) == text)) FAIL(value);
  }
}

TEST_CASE("Control characters are escaped for terminals") {
  const auto [text, out] = GENERATE(table<std::string, std::string>({
      {"eth0", "eth0"},
      {"back\\slash", "back\\slash"},
      {"\x1b[2J", "\\x1b[2J"},
      {"a\nforged\tline\r", "a\\x0aforged\\x09line\\x0d"},
      {std::string("a\0b", 3), "a\\x00b"},
      {"\x7f", "\\x7f"},
      {"\xff", "\\xff"},
      {"\xC2\x9b"
       "31m",
       "\\xc2\\x9b31m"},  // CSI of C1
      {"\xE2\x80\xAE"
       "0hte",
       "\\xe2\\x80\\xae"
       "0hte"},                             // right to left
      {"\xE2\x80\x8B", "\\xe2\\x80\\x8b"},  // nothing to see
      {"\xF3\xA0\x81\x81", "\\xf3\\xa0\\x81\\x81"},
      {"caf\xC3\xA9 \xF0\x9F\x98\x80", "caf\xC3\xA9 \xF0\x9F\x98\x80"},
  }));
  CHECK(escaped(text) == out);
  CHECK(escaped(out) == out);
}

TEST_CASE("Control characters are escaped in JSON without changing its value") {
  const std::string text = GENERATE(as<std::string>(), "\x7f", "\xC2\x9b",
                                    "a\xE2\x80\xAE"
                                    "b",
                                    "\xF3\xA0\x81\x81", "\x1b", "\xC3\xA9");
  const Json json(Json::Object{{text, Json(text)}});
  for (const std::string& printed : {json.text(), json.pretty(), json.text(Json::Order::sorted)}) {
    CHECK(escaped(printed).find("\\x") ==
          (printed.find('\n') == std::string::npos ? std::string::npos : escaped(printed).find("\\x0a")));
    CHECK(*Json::parse(printed) == json);
  }
}

}  // namespace vfrail

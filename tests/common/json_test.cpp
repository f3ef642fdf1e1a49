// common/json.h: limits, positions, Go's rules about keys and numbers, and messages that name the key.
#include "common/json.h"

#include <chrono>
#include <limits>

#include <catch2/catch.hpp>

namespace vfrail {
namespace {

Json parsed(std::string_view text) {
  auto json = Json::parse(text);
  if (!json) FAIL(json.error().text);
  return std::move(*json);
}

std::string refusal(std::string_view text) {
  const auto json = Json::parse(text);
  REQUIRE_FALSE(json);
  CHECK(json.error().code == Errc::invalid);
  return json.error().text;
}

}  // namespace

TEST_CASE("JSON is written as it was read, with its keys in the same order") {
  const std::string text = R"({"b":[1,-2,2.5,true,null,"x\"y\n"],"a":{"c":{}}})";
  CHECK(parsed(text).text() == text);
}

TEST_CASE("Sorted output orders the keys of every object") {
  CHECK(parsed(R"({"b":1,"a":{"d":1,"c":2}})").text(Json::Order::sorted) == R"({"a":{"c":2,"d":1},"b":1})");
}

TEST_CASE("A duplicate key keeps its last value") {
  const Json json = parsed(R"({"a":1,"b":2,"a":3})");
  CHECK(json.text() == R"({"a":3,"b":2})");
}

TEST_CASE("A text longer than the limit is refused before it is read") {
  CHECK(Json::parse("[1,2,3]", 7));
  CHECK(Json::parse("[1,2,3]", 6).error().text.find("6 bytes") != std::string::npos);
}

TEST_CASE("64 levels of nesting are read, more are refused") {
  CHECK(Json::parse(std::string(64, '[') + std::string(64, ']')));
  CHECK(refusal(std::string(65, '[') + std::string(65, ']')).find("64 levels") != std::string::npos);
  CHECK(refusal(std::string(1'000'000, '[')).find("64 levels") != std::string::npos);
}

TEST_CASE("What is valid for Go is told from what no limit would make valid") {
  const auto nested = [](size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); };
  CHECK(Json::is_valid(R"({"a":[1,-2.5e3,true,null,"x\"y"],"b":{}})"));
  CHECK(Json::is_valid(nested(65)));
  CHECK(Json::is_valid(nested(10'000)));
  CHECK_FALSE(Json::is_valid(nested(10'001)));
  CHECK(Json::is_valid("\"\xff\""));
  for (const std::string& text : {std::string(), std::string(65, '['), nested(65) + "x",
                                  std::string("{}\0", 3), std::string("{\"a\"}")}) {
    CAPTURE(text);
    CHECK_FALSE(Json::is_valid(text));
  }
}

TEST_CASE("An error of the syntax gives line and column") {
  CHECK(refusal("{\n  \"a\": 1,\n  oops\n}").starts_with("line 3, column 3: "));
}

TEST_CASE("A comma too many is named, and not what the parser misses behind it") {
  CHECK(refusal("{\"a\": 1,}") ==
        "line 1, column 9: no key in double quotes: a comma too many before it, or a key without quotes");
  CHECK(refusal("[1,]") ==
        "line 1, column 4: no value: a comma too many before it, or a text without quotes");
}

TEST_CASE("What is not JSON is refused") {
  const std::string text = GENERATE(std::string(), " ", "{", "[1,]", "{\"a\":1} x", std::string("{}\0", 3),
                                    std::string("{}\0{}", 5), std::string("{\0}", 3), "nul", "'a'", "{\"a\"}",
                                    "\"\xff\"", "01", "1.", "\"\\ud800\"", "\"a\nb\"");
  CAPTURE(text);
  refusal(text);
}

TEST_CASE("Half a surrogate pair is refused, in keys and in values, and a whole one is one character") {
  const std::string text = GENERATE(as<std::string>(), R"(["\ud83d"])", R"(["\ude00"])",
                                    R"(["\ude00\ud83d"])", R"({"\udfff":1})", R"({"\ud83dx":1})");
  CAPTURE(text);
  refusal(text);
  CHECK(parsed(R"(["\ud83d\ude00"])").text() == "[\"\xf0\x9f\x98\x80\"]");
}

TEST_CASE("A number larger than any integer is still a number") {
  CHECK(parsed("18446744073709551615").as_double() != nullptr);
  CHECK(parsed("9223372036854775807") == Json(INT64_MAX));
  CHECK(parsed("5000000000").text() == "5000000000");
  refusal("1e999");
}

TEST_CASE("A number is read exactly, however it is written") {
  const auto [text, number] = GENERATE(table<std::string, double>({
      {"0e308", 0},
      {"-0.0e-400", 0},
      {"1e-400", 0},
      {"0." + std::string(400, '0') + "1", 0},
      {"0." + std::string(400, '0') + "1e401", 1},
      {"1" + std::string(300, '0') + "e-300", 1},
      {std::string(30, '0').insert(0, "1") + ".0", 1e30},
      {"1.7976931348623157e308", std::numeric_limits<double>::max()},
      {"4.9406564584124654e-324", std::numeric_limits<double>::denorm_min()},
      {"0.1", 0.1},
      {"4.35", 4.35},
      {"9007199254740993.0", 9007199254740992.0},
  }));
  CAPTURE(text);
  const Json json = parsed(text);
  REQUIRE(json.as_double() != nullptr);
  CHECK(*json.as_double() == number);
  CHECK(parsed(json.text()) == json);
}

TEST_CASE("A number that no double can represent is refused with its position") {
  const std::string text =
      GENERATE(as<std::string>(), "2e308", "-1e999", "1" + std::string(300, '0') + "e308",
               std::string(400, '9'), "1e99999999999");
  CAPTURE(text);
  CHECK(refusal("[\n" + text + "]").starts_with("line 2, column 1: "));
}

TEST_CASE("What Go's encoding/json would write is the same byte for byte") {
  // Joiners, marks of direction and control characters are nothing special to it, unlike to text().
  const std::string plain = "a\u200Db\u202Ec\xC2\x9B d\uFEFFe\x7F f\uFFFD";
  Json json;
  json.set("b", plain).set("a", "<&>\u2028\n\x1f\\");
  CHECK(json.go_text() == "{\"a\":\"\\u003c\\u0026\\u003e\\u2028\\n\\u001f\\\\\",\"b\":\"" + plain + "\"}");
  CHECK(json.text() != json.go_text(Json::Order::as_is));
  CHECK(Json("a\xff\xe2\x80z").go_text() == "\"a\\ufffd\\ufffd\\ufffdz\"");
}

TEST_CASE("An integer keeps all its digits") {
  for (const char* text : {"0", "-1", "9223372036854775807", "-9223372036854775808", "4294967296"}) {
    CAPTURE(text);
    REQUIRE(parsed(text).as_int() != nullptr);
    CHECK(parsed(text).text() == text);
  }
  CHECK(parsed("-0") == Json(0));
}

// Comparing each key with all before it would take as long as ctest allows.
TEST_CASE("An object with very many keys is read with a hash table") {
  std::string text = "{";
  for (int i = 0; i < 80'000; ++i) text += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":1";
  text += "}";
  CHECK(parsed(text).as_object()->size() == 80'000);
}

TEST_CASE("A key matches in any letter case, and the last of several counts, as in Go") {
  const Json json = parsed(R"({"deviceID":"first","DEVICEID":"last"})");
  CHECK(*ObjectReader(*json.as_object(), "").text("deviceID").value_or(std::nullopt) == "last");
  CHECK(*ObjectReader(*json.as_object(), "").text("deviceid").value_or(std::nullopt) == "last");
  const Json other = parsed(R"({"DeviceId":"x"})");
  CHECK(*ObjectReader(*other.as_object(), "").text("deviceID").value_or(std::nullopt) == "x");
}

TEST_CASE("An absent key and a null are the same") {
  const Json json = parsed(R"({"a":null})");
  ObjectReader reader(*json.as_object(), "");
  CHECK_FALSE(reader.text("a").value_or("x").has_value());
  CHECK_FALSE(reader.text("b").value_or("x").has_value());
  CHECK(*reader.object("a") == nullptr);
  CHECK(*reader.array("b") == nullptr);
}

TEST_CASE("A value of another type is refused with its path and an excerpt") {
  const Json json = parsed(R"({"a":5})");
  ObjectReader reader(*json.as_object(), "resourceList[0]");
  CHECK(reader.text("a").error().text == "resourceList[0].a: must be a string, got a number (5)");
  CHECK(reader.boolean("a").error().text == "resourceList[0].a: must be true or false, got a number (5)");
  CHECK(reader.texts("a").error().text == "resourceList[0].a: must be a list of strings, got a number (5)");
  CHECK(reader.object("a").error().text == "resourceList[0].a: must be an object, got a number (5)");
  CHECK(reader.array("a").error().text == "resourceList[0].a: must be a list, got a number (5)");
}

TEST_CASE("An item of a list that is not a string is named by its index") {
  const Json json = parsed(R"({"a":["x",{}]})");
  CHECK(ObjectReader(*json.as_object(), "").texts("a").error().text ==
        "a[1]: must be a string, got an object ({})");
}

TEST_CASE("A long value is shortened in a message") {
  Json json;
  json.set("a", Json(std::string(10'000, 'x')));
  CHECK(ObjectReader(*json.as_object(), "").boolean("a").error().text.size() < 200);
}

TEST_CASE("A whole number may have the notation of Go's float64") {
  const Json json = parsed(R"({"a":9e3,"b":9000.0,"c":-0.0,"d":9007199254740992.0})");
  ObjectReader reader(*json.as_object(), "");
  CHECK(reader.integer("a").value_or(std::nullopt) == 9000);
  CHECK(reader.integer("b").value_or(std::nullopt) == 9000);
  CHECK(reader.integer("c").value_or(std::nullopt) == 0);
  CHECK(reader.integer("d").value_or(std::nullopt) == int64_t{1} << 53);
}

TEST_CASE("A number that is not whole, or would lose digits, is refused") {
  const char* text = GENERATE(R"({"a":1.5})", R"({"a":1e300})", R"({"a":18446744073709551615})",
                              R"({"a":"9000"})", R"({"a":true})");
  CAPTURE(text);
  const Json json = parsed(text);
  CHECK_FALSE(ObjectReader(*json.as_object(), "").integer("a"));
}

TEST_CASE("A number out of range is refused with the range") {
  const Json json = parsed(R"({"mtu":70000})");
  CHECK(ObjectReader(*json.as_object(), "").integer("mtu", 0, 65535).error().text ==
        "mtu: must be 0 to 65535, got 70000");
}

TEST_CASE("Keys that were not read are listed") {
  const Json json = parsed(R"({"known":1,"Vendors":[],"extra":1})");
  ObjectReader reader(*json.as_object(), "");
  reader.value("known");
  reader.value("vendors");
  CHECK(reader.unread() == std::vector<std::string>{"extra"});
}

TEST_CASE("The nearest name is within two edits, or there is none") {
  const std::vector<std::string> known{"vendors", "devices", "drivers"};
  CHECK(nearest_name("vendor", known) == "vendors");
  CHECK(nearest_name("DRIVRES", known) == "drivers");
  CHECK(nearest_name("pfNames", known).empty());
  CHECK(nearest_name("", known).empty());
}

TEST_CASE("Values and errors know their line when the text is part of a file") {
  const std::string text = "{\"a\": 1,\n \"b\": {\n  \"c\": [\n   \"x\", 5]}}";
  const auto json = Json::parse_in_file(text);
  REQUIRE(json);
  CHECK(json->line() == 1);
  CHECK(json->find("b")->line() == 2);
  CHECK(json->find("b")->find("c")->line() == 3);
  ObjectReader reader(*json->find("b")->as_object(), "b", 2);
  CHECK(reader.texts("c").error().text == "b.c[1] (line 4): must be a string, got a number (5)");
  CHECK(reader.error("c", "odd").text == "b.c (line 3): odd");
  CHECK(reader.error("none", "missing").text == "b.none (line 2): missing");
  CHECK(reader.place("C") == "b.C (line 3)");
  CHECK(Json::parse_in_file(text, {10, true})->find("b")->line() == 11);
  CHECK(Json::parse_in_file(text, {10, false})->find("b")->line() == 10);
  CHECK(Json::parse_in_file("{\n\n oops}", {10, true}).error().text.find("line 12, column 2: ") == 0);
  CHECK(Json::parse_in_file("{\n\n oops}", {10, false}).error().text.find("line 10: ") == 0);
  const auto plain = Json::parse(text);
  CHECK(plain->find("b")->line() == 0);
  CHECK(*plain == *json);
  CHECK(ObjectReader(*plain->as_object(), "").error("a", "odd").text == "a: odd");
}

TEST_CASE("set and push create an object or a list from nothing") {
  Json object;
  object.set("a", 1).set("a", 2);
  CHECK(object.text() == R"({"a":2})");
  Json list;
  list.push("x").push(Json());
  CHECK(list.text() == R"(["x",null])");
  CHECK(list.find("x") == nullptr);
}

TEST_CASE("As Go reads it a text has U+FFFD in place of what is not Unicode") {
  CHECK(Json::as_unicode(R"(["\ud83d\ude00","\u00e9","\\ud800","\"\ud800"])") ==
        R"(["\ud83d\ude00","\u00e9","\\ud800","\"\ufffd"])");
  CHECK(Json::as_unicode(R"("\ude00\ud83d\ud83d\ude00x\uD8")") == R"("\ufffd\ufffd\ud83d\ude00x\uD8")");
  CHECK(Json::as_unicode("\"\xff\"") == "\"\xef\xbf\xbd\"");
  CHECK(Json::as_unicode("\\") == "\\");
  CHECK(Json::is_valid(R"({"\ud800":"\udc00"})"));
}

}  // namespace vfrail

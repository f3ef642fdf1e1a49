// JSON: a value tree, a bounded parser, a writer, and ObjectReader, whose errors name the path of the key.
// json.cpp is the only user of RapidJSON; object_reader.cpp has the reader. Knows no configuration format.
#pragma once

#include "common/result.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace vfrail {

// Where a text stands in its file, for messages: from which line on, and whether each of its lines is one of
// the file (a block of YAML) or all of it is on that line (in quotation marks).
struct TextLines {
  uint32_t first = 1;
  bool one_each = true;
};

class Json {
 public:
  using Array = std::vector<Json>;
  // In the order of the text; a duplicate key keeps its last value, as in Go's encoding/json.
  using Object = std::vector<std::pair<std::string, Json>>;
  enum class Order : uint8_t { as_is, sorted };

  Json() = default;  // null
  Json(bool value) : value_(value) {}
  Json(int64_t value) : value_(value) {}
  Json(int value) : value_(int64_t{value}) {}
  Json(uint32_t value) : value_(int64_t{value}) {}
  Json(double value) : value_(value) {}
  Json(std::string value) : value_(std::move(value)) {}
  Json(std::string_view value) : value_(std::string(value)) {}
  Json(const char* value) : value_(std::string(value)) {}
  Json(Array value) : value_(std::move(value)) {}
  Json(Object value) : value_(std::move(value)) {}
  // A name (common/ids.h) is its text.
  template <class T>
  requires requires { typename T::IsName; }
  Json(const T& name) : value_(name.text()) {}
  explicit Json(const std::vector<std::string>& texts) : value_(Array(texts.begin(), texts.end())) {}
  static Json object() { return Json(Object{}); }
  static Json array() { return Json(Array{}); }

  bool is_null() const { return value_.index() == 0; }
  const bool* as_bool() const { return std::get_if<bool>(&value_); }
  const int64_t* as_int() const { return std::get_if<int64_t>(&value_); }
  const double* as_double() const { return std::get_if<double>(&value_); }
  const std::string* as_text() const { return std::get_if<std::string>(&value_); }
  const Array* as_array() const { return std::get_if<Array>(&value_); }
  const Object* as_object() const { return std::get_if<Object>(&value_); }
  Array* as_array() { return std::get_if<Array>(&value_); }
  Object* as_object() { return std::get_if<Object>(&value_); }
  const char* type_name() const;  // "null", "a boolean", "a number", "a string", "a list", "an object"

  // Exact key; null when this is not an object or has no such key.
  const Json* find(std::string_view key) const;
  // Sets or replaces; turns a null into an object.
  Json& set(std::string_view key, Json value);
  // Appends; turns a null into a list.
  Json& push(Json value);

  // The line of its file where the value is; 0: unknown. No part of the value.
  uint32_t line() const { return line_; }
  Json& at_line(uint32_t line) {
    line_ = line;
    return *this;
  }

  bool operator==(const Json& other) const { return value_ == other.value_; }

  // Compact UTF-8 text, safe to print (common/escape.h); `sorted` orders the keys of every object, as Go does
  // for maps.
  std::string text(Order order = Order::as_is) const;
  // Byte for byte as Go's encoding/json writes it: <, >, &, the line separators U+2028 and U+2029 and control
  // characters below blank escaped, and nothing else, hexadecimal digits in lower case.
  std::string go_text(Order order = Order::sorted) const;
  std::string pretty(Order order = Order::as_is) const;  // two spaces of indentation

  // At most `limit_bytes` of text and 64 levels; the error gives line and column.
  static Result<Json> parse(std::string_view text, size_t limit_bytes = 1 << 20);
  // parse() of a text in which each value knows its line.
  static Result<Json> parse_in_file(std::string_view text, TextLines lines = {});
  // parse() of a text that has to be an object, so that as_object() is not null. Errc::protocol if it is
  // another value.
  static Result<Json> parse_object(std::string_view text, size_t limit_bytes = 1 << 20);
  // Whether the text is JSON for Go's encoding/json, whose limits are wider than those of parse(): 10,000
  // levels, and text that is not Unicode. (A number that no float64 can hold is refused by both.) Keeps some
  // bytes for each open level.
  static bool is_valid(std::string_view text);
  // As Go reads it: U+FFFD in place of what is not Unicode, bytes that are not UTF-8 and escapes of half
  // a surrogate pair.
  static std::string as_unicode(std::string_view text);

 private:
  std::variant<std::monostate, bool, int64_t, double, std::string, Array, Object> value_;
  uint32_t line_ = 0;
};

// Reads the keys of one object. Keys match as Go's encoding/json does it: without regard to case, and of
// several the last counts. An absent key and a null are the same. Errors: Errc::invalid,
// "resourceList[0].selectors.vendors: must be a string, got a number (5)".
class ObjectReader {
 public:
  // `path` names the object in messages; empty for the top level. `line` is the object's, if it is known. The
  // object must outlive the reader.
  ObjectReader(const Json::Object& object, std::string path, uint32_t line = 0)
      : object_(object), path_(std::move(path)), line_(line) {}

  // The value, or null when the key is absent or null.
  const Json* value(std::string_view key);
  Result<std::optional<std::string>> text(std::string_view key);
  Result<std::optional<bool>> boolean(std::string_view key);
  Result<std::optional<int64_t>> integer(std::string_view key,
                                         int64_t min = std::numeric_limits<int64_t>::min(),
                                         int64_t max = std::numeric_limits<int64_t>::max());
  // A null in a list is an error, or "" as in Go, whose decoder leaves such an entry empty.
  enum class NullText : uint8_t { refused, empty };
  Result<std::optional<std::vector<std::string>>> texts(std::string_view key,
                                                        NullText null = NullText::refused);
  Result<const Json::Object*> object(std::string_view key);  // null when absent
  Result<const Json::Array*> array(std::string_view key);    // null when absent

  // Of a state file: the key "schema" must be the one number that this version reads.
  Result<> schema(int64_t known);

  // "path.key".
  std::string path(std::string_view key) const;
  // "path.key (line 7)", or without the line if it is not known. `key` can be "vendors[2]".
  std::string place(std::string_view key) const;
  // An error about the value of `key`: "path.key (line 7): what".
  Error error(std::string_view key, std::string_view what) const;
  // Keys of the object that no call above has read, in the order of the text.
  std::vector<std::string> unread() const;

 private:
  const Json* find(std::string_view key) const;
  uint32_t line_of(std::string_view key) const;

  const Json::Object& object_;
  std::string path_;
  uint32_t line_;
  std::vector<std::string> asked_;
};

// " (line 7)"; empty if the line is not known.
std::string in_line(uint32_t line);

// The name in `known` that `word` is probably a misspelling of (edit distance at most 2, without regard to
// case), or empty.
std::string nearest_name(std::string_view word, const std::vector<std::string>& known);

}  // namespace vfrail

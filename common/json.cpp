#include "common/json.h"

#include "common/escape.h"
#include "common/text.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <unordered_map>

#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/prettywriter.h>
#include <rapidjson/reader.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

namespace vfrail {

namespace {

// Deeper nesting has no use in a configuration, and copying or comparing the tree recurses.
constexpr size_t kMaxDepth = 64;
constexpr size_t kMaxDepthOfGo = 10'000;

constexpr const char* kHalfCharacter = "half of a surrogate pair";

// A duplicate key keeps its first place and its last value. With a hash table: 1 MiB has room for 100,000
// keys, and comparing each one with all others takes minutes.
void merge_duplicates(Json::Object& object) {
  std::unordered_map<std::string, size_t> places;
  size_t size = 0;
  for (auto& member : object) {
    const auto [place, is_new] = places.try_emplace(member.first, size);
    if (!is_new) {
      object[place->second].second = std::move(member.second);
    } else {
      if (&object[size] != &member) object[size] = std::move(member);
      ++size;
    }
  }
  object.resize(size);
}

// Nearly no object has duplicates, and a sorted list of its keys is faster than a hash table.
bool has_duplicates(const Json::Object& object) {
  std::vector<std::string_view> keys;
  keys.reserve(object.size());
  for (const auto& member : object) keys.emplace_back(member.first);
  std::sort(keys.begin(), keys.end());
  return std::adjacent_find(keys.begin(), keys.end()) != keys.end();
}

// Builds the tree from RapidJSON's events: what is not yet part of a container waits in `values_` and `keys_`
// until the container ends and takes as many as it has.
class TreeBuilder : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, TreeBuilder> {
 public:
  // `lines`: null if lines are not needed.
  TreeBuilder(const rapidjson::MemoryStream& stream, const TextLines* lines)
      : stream_(stream), lines_(lines) {}

  bool Null() { return add(Json()); }
  bool Bool(bool value) { return add(Json(value)); }
  // RapidJSON checks the syntax of a number, and the C library reads it: RapidJSON 1.1.0 reads far behind the
  // end of a table for 0.00...01 with 400 zeros (GetCachedPower10() in internal/diyfp.h).
  bool RawNumber(const char* text, rapidjson::SizeType size, bool) {
    int64_t integer = 0;
    const auto [end, error] = std::from_chars(text, text + size, integer);
    if (error == std::errc() && end == text + size) return add(Json(integer));
    const double number = std::strtod(std::string(text, size).c_str(), nullptr);
    return std::isfinite(number) ? add(Json(number)) : refuse("a number that is too big");
  }
  // RapidJSON refuses "\ud800" without its other half, but not "\udc00", which it encodes in three bytes.
  bool String(const char* text, rapidjson::SizeType size, bool) {
    const std::string_view value(text, size);
    return is_utf8(value) ? add(Json(value)) : refuse(kHalfCharacter);
  }
  bool Key(const char* text, rapidjson::SizeType size, bool) {
    keys_.emplace_back(text, size);
    return is_utf8(keys_.back()) || refuse(kHalfCharacter);
  }
  bool StartObject() { return open(); }
  bool EndObject(rapidjson::SizeType size) {
    Json::Object object;
    object.reserve(size);
    const size_t first_key = keys_.size() - size;
    const size_t first_value = values_.size() - size;
    for (size_t i = 0; i < size; ++i)
      object.emplace_back(std::move(keys_[first_key + i]), std::move(values_[first_value + i]));
    keys_.resize(first_key);
    values_.resize(first_value);
    if (has_duplicates(object)) merge_duplicates(object);
    return close(Json(std::move(object)));
  }
  bool StartArray() { return open(); }
  bool EndArray(rapidjson::SizeType size) {
    const auto first = values_.end() - static_cast<std::ptrdiff_t>(size);
    Json::Array list(std::make_move_iterator(first), std::make_move_iterator(values_.end()));
    values_.erase(first, values_.end());
    return close(Json(std::move(list)));
  }

  // The whole text of a successful parse.
  Json root() { return std::move(values_.front()); }

  std::string refusal;  // why a handler has ended the parse

 private:
  bool refuse(std::string why) {
    refusal = std::move(why);
    return false;
  }
  bool open() {
    if (open_.size() >= kMaxDepth)
      return refuse("more than " + std::to_string(kMaxDepth) + " levels of nesting");
    open_.push_back(line());
    return true;
  }
  bool close(Json done) {
    done.at_line(open_.back());
    open_.pop_back();
    return add(std::move(done));
  }
  // Of what the stream has just skipped: only a comment could span lines, and JSON has none.
  uint32_t line() {
    if (lines_ == nullptr || !lines_->one_each) return lines_ == nullptr ? 0 : lines_->first;
    const char* now = stream_.src_;
    newlines_ += static_cast<uint32_t>(std::count(counted_, now, '\n'));
    counted_ = now;
    return lines_->first + newlines_;
  }
  bool add(Json value) {
    if (value.line() == 0) value.at_line(line());
    values_.push_back(std::move(value));
    return true;
  }

  const rapidjson::MemoryStream& stream_;
  const TextLines* lines_;
  const char* counted_ = stream_.begin_;
  uint32_t newlines_ = 0;
  std::vector<uint32_t> open_;  // the line of each container that has not ended
  std::vector<Json> values_;
  std::vector<std::string> keys_;
};

std::vector<const Json::Object::value_type*> sorted(const Json::Object& object) {
  std::vector<const Json::Object::value_type*> out;
  out.reserve(object.size());
  for (const auto& member : object) out.push_back(&member);
  std::sort(out.begin(), out.end(), [](auto* a, auto* b) { return a->first < b->first; });
  return out;
}

template <class Writer>
void write(Writer& out, const Json& value, Json::Order order) {
  if (const auto* boolean = value.as_bool()) {
    out.Bool(*boolean);
  } else if (const auto* integer = value.as_int()) {
    out.Int64(*integer);
  } else if (const auto* number = value.as_double()) {
    out.Double(*number);
  } else if (const auto* text = value.as_text()) {
    out.String(text->data(), static_cast<rapidjson::SizeType>(text->size()));
  } else if (const auto* list = value.as_array()) {
    out.StartArray();
    for (const Json& item : *list) write(out, item, order);
    out.EndArray();
  } else if (const auto* object = value.as_object()) {
    const auto write_member = [&](const Json::Object::value_type& member) {
      out.Key(member.first.data(), static_cast<rapidjson::SizeType>(member.first.size()));
      write(out, member.second, order);
    };
    out.StartObject();
    if (order == Json::Order::sorted) {
      for (const auto* member : sorted(*object)) write_member(*member);
    } else {
      for (const auto& member : *object) write_member(member);
    }
    out.EndObject();
  } else {
    out.Null();
  }
}

// Takes whatever the reader's syntax allows.
class DepthCounter : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, DepthCounter> {
 public:
  bool StartObject() { return ++depth_ <= kMaxDepthOfGo; }
  bool EndObject(rapidjson::SizeType) { return close(); }
  bool StartArray() { return ++depth_ <= kMaxDepthOfGo; }
  bool EndArray(rapidjson::SizeType) { return close(); }

 private:
  bool close() {
    --depth_;
    return true;
  }
  size_t depth_ = 0;
};

std::string place(std::string_view text, size_t offset, TextLines lines) {
  if (!lines.one_each) return "line " + std::to_string(lines.first);
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const auto line = std::count(before.begin(), before.end(), '\n') + lines.first;
  const size_t line_start = before.rfind('\n');
  const size_t column = before.size() - (line_start == std::string_view::npos ? 0 : line_start + 1) + 1;
  return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

const char* in_words(rapidjson::ParseErrorCode code) {
  switch (code) {
    case rapidjson::kParseErrorDocumentEmpty:
      return "there is nothing in it";
    case rapidjson::kParseErrorDocumentRootNotSingular:
      return "text behind the end of the value";
    case rapidjson::kParseErrorValueInvalid:
      return "no value: a comma too many before it, or a text without quotes";
    case rapidjson::kParseErrorObjectMissName:
      return "no key in double quotes: a comma too many before it, or a key without quotes";
    case rapidjson::kParseErrorObjectMissColon:
      return "no ':' behind the key";
    case rapidjson::kParseErrorObjectMissCommaOrCurlyBracket:
      return "neither ',' nor '}' behind the value";
    case rapidjson::kParseErrorArrayMissCommaOrSquareBracket:
      return "neither ',' nor ']' behind the value";
    case rapidjson::kParseErrorStringMissQuotationMark:
      return "a text that does not end: a double quote is missing, or a line break is in it";
    default:
      return rapidjson::GetParseError_En(code);
  }
}

Result<Json> parse_tree(std::string_view text, size_t limit_bytes, const TextLines* lines) {
  if (text.size() > limit_bytes) {
    return Error{Errc::invalid, 0,
                 "the text has more than the " + std::to_string(limit_bytes) + " bytes allowed"};
  }
  const TextLines shown = lines == nullptr ? TextLines() : *lines;
  rapidjson::Reader reader;
  rapidjson::MemoryStream stream(text.data(), text.size());
  TreeBuilder builder(stream, lines);
  constexpr unsigned kFlags = rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag |
                              rapidjson::kParseNumbersAsStringsFlag;
  const auto result = reader.Parse<kFlags>(stream, builder);
  if (result.IsError()) {
    const bool refused = result.Code() == rapidjson::kParseErrorTermination;
    return Error{
        Errc::invalid, 0,
        place(text, result.Offset(), shown) + ": " + (refused ? builder.refusal : in_words(result.Code()))};
  }
  // RapidJSON takes a zero for the end, whatever follows it.
  if (stream.Tell() < text.size())
    return Error{Errc::invalid, 0, place(text, stream.Tell(), shown) + ": a zero byte behind the value"};
  return builder.root();
}

}  // namespace

const char* Json::type_name() const {
  static constexpr const char* kNames[] = {"null",     "a boolean", "a number", "a number",
                                           "a string", "a list",    "an object"};
  return kNames[value_.index()];
}

const Json* Json::find(std::string_view key) const {
  const Object* object = as_object();
  if (object == nullptr) return nullptr;
  const auto at = std::find_if(object->begin(), object->end(), [&](const auto& m) { return m.first == key; });
  return at == object->end() ? nullptr : &at->second;
}

Json& Json::set(std::string_view key, Json value) {
  if (is_null()) value_ = Object{};
  Object& object = *as_object();
  const auto at = std::find_if(object.begin(), object.end(), [&](const auto& m) { return m.first == key; });
  if (at == object.end()) {
    object.emplace_back(std::string(key), std::move(value));
  } else {
    at->second = std::move(value);
  }
  return *this;
}

Json& Json::push(Json value) {
  if (is_null()) value_ = Array{};
  as_array()->push_back(std::move(value));
  return *this;
}

namespace {

std::string compact(const Json& value, Json::Order order) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> out(buffer);
  write(out, value, order);
  return {buffer.GetString(), buffer.GetSize()};
}

}  // namespace

std::string Json::text(Order order) const { return escaped_json(compact(*this, order)); }

// Outside strings JSON has none of these characters, and a backslash is in a string only. Invalid UTF-8 (the
// name of an interface has whatever bytes somebody gave it) becomes an escaped U+FFFD.
std::string Json::go_text(Order order) const {
  const std::string raw = compact(*this, order);
  std::string out;
  for (std::string_view rest = raw; !rest.empty();) {
    size_t size = 1;
    if (rest.starts_with("\\u")) {
      size = 6;
      for (const char c : rest.substr(0, size))
        out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (rest.starts_with('\\')) {
      size = 2;
      out += rest.substr(0, size);
    } else if (rest[0] == '<' || rest[0] == '>' || rest[0] == '&') {
      out += rest[0] == '<' ? "\\u003c" : rest[0] == '>' ? "\\u003e" : "\\u0026";
    } else if (static_cast<unsigned char>(rest[0]) < 0x80) {
      out += rest[0];
    } else if (rest.starts_with("\xE2\x80\xA8") || rest.starts_with("\xE2\x80\xA9")) {
      size = 3;
      out += rest[2] == '\xA8' ? "\\u2028" : "\\u2029";
    } else {
      while (size <= std::min<size_t>(rest.size(), 4) && !is_utf8(rest.substr(0, size))) ++size;
      const bool valid = size <= std::min<size_t>(rest.size(), 4);
      if (!valid) size = 1;
      out += valid ? rest.substr(0, size) : "\\ufffd";
    }
    rest.remove_prefix(size);
  }
  return out;
}

std::string Json::pretty(Order order) const {
  rapidjson::StringBuffer buffer;
  rapidjson::PrettyWriter<rapidjson::StringBuffer> out(buffer);
  out.SetIndent(' ', 2);
  write(out, *this, order);
  return escaped_json({buffer.GetString(), buffer.GetSize()});
}

Result<Json> Json::parse(std::string_view text, size_t limit_bytes) {
  return parse_tree(text, limit_bytes, nullptr);
}

Result<Json> Json::parse_in_file(std::string_view text, TextLines lines) {
  return parse_tree(text, 1 << 20, &lines);
}

namespace {

constexpr size_t kEscape = std::string_view("\\ud800").size();

// The value of the escape "\uXXXX" there. No value: there is none.
std::optional<uint32_t> utf16_unit(std::string_view text, size_t at) {
  if (at + kEscape > text.size() || text.substr(at, 2) != "\\u") return std::nullopt;
  uint32_t out = 0;
  const char* end = text.data() + at + kEscape;
  const auto [stop, error] = std::from_chars(text.data() + at + 2, end, out, 16);
  return error == std::errc() && stop == end ? std::optional(out) : std::nullopt;
}

}  // namespace

bool Json::is_valid(std::string_view text) {
  const std::string read = as_unicode(text);
  rapidjson::Reader reader;
  rapidjson::MemoryStream stream(read.data(), read.size());
  DepthCounter counter;
  constexpr unsigned kFlags = rapidjson::kParseIterativeFlag | rapidjson::kParseNumbersAsStringsFlag;
  return !reader.Parse<kFlags>(stream, counter).IsError() && stream.Tell() == read.size();
}

std::string Json::as_unicode(std::string_view text) {
  std::string out = well_formed(text);
  // A backslash is in a string, or the text is not JSON.
  for (size_t at = out.find('\\'); at != std::string::npos; at = out.find('\\', at)) {
    const auto unit = utf16_unit(out, at);
    const auto next = unit ? utf16_unit(out, at + kEscape) : std::nullopt;
    const bool is_pair =
        unit && *unit >= 0xD800 && *unit < 0xDC00 && next && *next >= 0xDC00 && *next < 0xE000;
    if (!is_pair && unit && *unit >= 0xD800 && *unit < 0xE000) out.replace(at, kEscape, "\\ufffd");
    at += is_pair ? 2 * kEscape : unit ? kEscape : 2;
  }
  return out;
}

Result<Json> Json::parse_object(std::string_view text, size_t limit_bytes) {
  Json out = TRY(parse(text, limit_bytes));
  if (out.as_object() != nullptr) return out;
  return Error{Errc::protocol, 0, std::string("must be an object, got ") + out.type_name()};
}

}  // namespace vfrail

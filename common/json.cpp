#include "common/json.h"

#include "common/escape.h"
#include "common/text.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <unordered_map>

#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/prettywriter.h>
#include <rapidjson/reader.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

namespace vfrail {

namespace {

// Deeper nesting than this has no use in a configuration, and copying or comparing the tree recurses.
constexpr size_t kMaxDepth = 64;

constexpr const char* kHalfCharacter = "half of a surrogate pair";

// A duplicate key keeps its first place and its last value. By a table: 1 MiB has room for 100,000 keys, and
// to look each one up among all others takes minutes.
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

// Builds the tree from RapidJSON's events. `open_` holds the containers being filled, outermost first.
class TreeBuilder : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, TreeBuilder> {
 public:
  bool Null() { return add(Json()); }
  bool Bool(bool value) { return add(Json(value)); }
  // RapidJSON checks how a number is written, and the C library reads it: RapidJSON 1.1.0 looks far behind
  // the end of a table for 0.00...01 with 400 zeros (GetCachedPower10() in internal/diyfp.h).
  bool RawNumber(const char* text, rapidjson::SizeType size, bool) {
    int64_t integer = 0;
    const auto [end, error] = std::from_chars(text, text + size, integer);
    if (error == std::errc() && end == text + size) return add(Json(integer));
    const double number = std::strtod(std::string(text, size).c_str(), nullptr);
    return std::isfinite(number) ? add(Json(number)) : refuse("a number that is too big");
  }
  // RapidJSON refuses "\ud800" without its other half, but not "\udc00", which it makes three bytes of.
  bool String(const char* text, rapidjson::SizeType size, bool) {
    std::string value(text, size);
    return is_utf8(value) ? add(Json(std::move(value))) : refuse(kHalfCharacter);
  }
  bool Key(const char* text, rapidjson::SizeType size, bool) {
    keys_.emplace_back(text, size);
    return is_utf8(keys_.back()) || refuse(kHalfCharacter);
  }
  bool StartObject() { return open(Json::object()); }
  bool EndObject(rapidjson::SizeType) { return close(); }
  bool StartArray() { return open(Json::array()); }
  bool EndArray(rapidjson::SizeType) { return close(); }

  Json root;
  std::string refusal;  // why a handler has ended the parse

 private:
  bool refuse(std::string why) {
    refusal = std::move(why);
    return false;
  }
  bool open(Json container) {
    if (open_.size() >= kMaxDepth)
      return refuse("more than " + std::to_string(kMaxDepth) + " levels of nesting");
    open_.push_back(std::move(container));
    return true;
  }
  bool close() {
    Json done = std::move(open_.back());
    open_.pop_back();
    if (Json::Object* object = done.as_object()) merge_duplicates(*object);
    return add(std::move(done));
  }
  bool add(Json value) {
    if (open_.empty()) {
      root = std::move(value);
    } else if (Json::Array* list = open_.back().as_array()) {
      list->push_back(std::move(value));
    } else {
      open_.back().as_object()->emplace_back(std::move(keys_.back()), std::move(value));
      keys_.pop_back();
    }
    return true;
  }

  std::vector<Json> open_;
  std::vector<std::string> keys_;
};

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
    std::vector<const std::pair<std::string, Json>*> members;
    for (const auto& member : *object) members.push_back(&member);
    if (order == Json::Order::sorted) {
      std::sort(members.begin(), members.end(), [](auto* a, auto* b) { return a->first < b->first; });
    }
    out.StartObject();
    for (const auto* member : members) {
      out.Key(member->first.data(), static_cast<rapidjson::SizeType>(member->first.size()));
      write(out, member->second, order);
    }
    out.EndObject();
  } else {
    out.Null();
  }
}

std::string place(std::string_view text, size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const size_t line_start = before.rfind('\n');
  const size_t column = before.size() - (line_start == std::string_view::npos ? 0 : line_start + 1) + 1;
  return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

bool same_but_for_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

std::string excerpt(const Json& value) {
  std::string text = value.text();
  constexpr size_t kLimit = 60;  // enough to recognise the value in the file
  if (text.size() > kLimit) text = text.substr(0, kLimit) + "...";
  return text;
}

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j < row.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const bool same = std::tolower(static_cast<unsigned char>(a[i - 1])) ==
                        std::tolower(static_cast<unsigned char>(b[j - 1]));
      const size_t replaced = diagonal + (same ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
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

std::string Json::text(Order order) const {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> out(buffer);
  write(out, *this, order);
  return escaped_json({buffer.GetString(), buffer.GetSize()});
}

// Outside strings JSON has none of these characters, and a backslash is in a string only.
std::string Json::go_text(Order order) const {
  const std::string compact = text(order);
  std::string out;
  for (size_t at = 0; at < compact.size(); ++at) {
    const std::string_view rest = std::string_view(compact).substr(at);
    if (rest.starts_with("\\u")) {
      for (const char c : rest.substr(0, 6))
        out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      at += 5;
    } else if (rest.starts_with('\\')) {
      out += rest.substr(0, 2);
      at += 1;
    } else if (rest.starts_with("\xE2\x80\xA8") || rest.starts_with("\xE2\x80\xA9")) {
      out += rest[2] == '\xA8' ? "\\u2028" : "\\u2029";
      at += 2;
    } else if (rest[0] == '<' || rest[0] == '>' || rest[0] == '&') {
      out += rest[0] == '<' ? "\\u003c" : rest[0] == '>' ? "\\u003e" : "\\u0026";
    } else {
      out += rest[0];
    }
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
  if (text.size() > limit_bytes) {
    return Error{Errc::invalid, 0,
                 "the text has more than the " + std::to_string(limit_bytes) + " bytes allowed"};
  }
  rapidjson::Reader reader;
  rapidjson::MemoryStream stream(text.data(), text.size());
  TreeBuilder builder;
  constexpr unsigned kFlags = rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag |
                              rapidjson::kParseNumbersAsStringsFlag;
  const auto result = reader.Parse<kFlags>(stream, builder);
  if (result.IsError()) {
    const bool refused = result.Code() == rapidjson::kParseErrorTermination;
    return Error{Errc::invalid, 0,
                 place(text, result.Offset()) + ": " +
                     (refused ? builder.refusal : rapidjson::GetParseError_En(result.Code()))};
  }
  // RapidJSON takes a zero for the end, whatever comes behind it.
  if (stream.Tell() < text.size())
    return Error{Errc::invalid, 0, place(text, stream.Tell()) + ": a zero byte behind the value"};
  return std::move(builder.root);
}

Result<Json> Json::parse_object(std::string_view text, size_t limit_bytes) {
  Json out = TRY(parse(text, limit_bytes), "");
  if (out.as_object() != nullptr) return out;
  return Error{Errc::protocol, 0, std::string("must be an object, got ") + out.type_name()};
}

const Json* ObjectReader::value(std::string_view key) {
  asked_.emplace_back(key);
  const Json* found = nullptr;
  for (const auto& [name, value] : object_) {
    if (same_but_for_case(name, key)) found = &value;  // of several the last, however it is spelled
  }
  return found == nullptr || found->is_null() ? nullptr : found;
}

Result<std::optional<std::string>> ObjectReader::text(std::string_view key) {
  const Json* found = value(key);
  if (found == nullptr) return std::optional<std::string>();
  if (const std::string* text = found->as_text()) return std::optional<std::string>(*text);
  return error(key,
               std::string("must be a string, got ") + found->type_name() + " (" + excerpt(*found) + ")");
}

Result<std::optional<bool>> ObjectReader::boolean(std::string_view key) {
  const Json* found = value(key);
  if (found == nullptr) return std::optional<bool>();
  if (const bool* boolean = found->as_bool()) return std::optional<bool>(*boolean);
  return error(
      key, std::string("must be true or false, got ") + found->type_name() + " (" + excerpt(*found) + ")");
}

Result<std::optional<int64_t>> ObjectReader::integer(std::string_view key, int64_t min, int64_t max) {
  const Json* found = value(key);
  if (found == nullptr) return std::optional<int64_t>();
  std::optional<int64_t> number;
  if (const int64_t* integer = found->as_int()) number = *integer;
  // Multus passes numbers through Go's float64, so a whole number may arrive as 9e3.
  if (const double* real = found->as_double()) {
    constexpr double kExact = 9007199254740992.0;  // 2^53
    if (*real >= -kExact && *real <= kExact && *real == static_cast<double>(static_cast<int64_t>(*real))) {
      number = static_cast<int64_t>(*real);
    }
  }
  if (!number) {
    return error(
        key, std::string("must be a whole number, got ") + found->type_name() + " (" + excerpt(*found) + ")");
  }
  if (*number < min || *number > max) {
    return error(key, "must be " + std::to_string(min) + " to " + std::to_string(max) + ", got " +
                          std::to_string(*number));
  }
  return number;
}

Result<std::optional<std::vector<std::string>>> ObjectReader::texts(std::string_view key) {
  const Json* found = value(key);
  if (found == nullptr) return std::optional<std::vector<std::string>>();
  const Json::Array* list = found->as_array();
  if (list == nullptr) {
    return error(key, std::string("must be a list of strings, got ") + found->type_name() + " (" +
                          excerpt(*found) + ")");
  }
  std::vector<std::string> out;
  for (size_t i = 0; i < list->size(); ++i) {
    const std::string* text = (*list)[i].as_text();
    if (text == nullptr) {
      return error(
          std::string(key) + "[" + std::to_string(i) + "]",
          std::string("must be a string, got ") + (*list)[i].type_name() + " (" + excerpt((*list)[i]) + ")");
    }
    out.push_back(*text);
  }
  return std::optional<std::vector<std::string>>(std::move(out));
}

Result<const Json::Object*> ObjectReader::object(std::string_view key) {
  const Json* found = value(key);
  if (found == nullptr) return static_cast<const Json::Object*>(nullptr);
  if (const Json::Object* object = found->as_object()) return object;
  return error(key,
               std::string("must be an object, got ") + found->type_name() + " (" + excerpt(*found) + ")");
}

Result<const Json::Array*> ObjectReader::array(std::string_view key) {
  const Json* found = value(key);
  if (found == nullptr) return static_cast<const Json::Array*>(nullptr);
  if (const Json::Array* list = found->as_array()) return list;
  return error(key, std::string("must be a list, got ") + found->type_name() + " (" + excerpt(*found) + ")");
}

std::string ObjectReader::path(std::string_view key) const {
  return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
}

Error ObjectReader::error(std::string_view key, std::string_view what) const {
  return Error{Errc::invalid, 0, path(key) + ": " + std::string(what)};
}

std::vector<std::string> ObjectReader::unread() const {
  std::vector<std::string> out;
  for (const auto& [name, value] : object_) {
    const bool asked = std::any_of(asked_.begin(), asked_.end(), [&name = name](const std::string& key) {
      return same_but_for_case(key, name);
    });
    if (!asked) out.push_back(name);
  }
  return out;
}

std::string nearest_name(std::string_view word, const std::vector<std::string>& known) {
  std::string best;
  size_t best_distance = 3;
  for (const std::string& name : known) {
    const size_t distance = edit_distance(word, name);
    if (distance < best_distance) {
      best = name;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace vfrail

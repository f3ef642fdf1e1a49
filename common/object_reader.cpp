#include "common/json.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace vfrail {

namespace {

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

const Json* ObjectReader::find(std::string_view key) const {
  const Json* found = nullptr;
  for (const auto& [name, value] : object_) {
    if (same_but_for_case(name, key)) found = &value;  // of several the last, however it is spelled
  }
  return found;
}

const Json* ObjectReader::value(std::string_view key) {
  asked_.emplace_back(key);
  const Json* found = find(key);
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

Result<std::optional<std::vector<std::string>>> ObjectReader::texts(std::string_view key, NullText null) {
  const Json* found = value(key);
  if (found == nullptr) return std::optional<std::vector<std::string>>();
  const Json::Array* list = found->as_array();
  if (list == nullptr) {
    return error(key, std::string("must be a list of strings, got ") + found->type_name() + " (" +
                          excerpt(*found) + ")");
  }
  std::vector<std::string> out;
  for (size_t i = 0; i < list->size(); ++i) {
    if (null == NullText::empty && (*list)[i].is_null()) {
      out.emplace_back();
      continue;
    }
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

Result<> ObjectReader::schema(int64_t known) {
  if (TRY(integer("schema")) == known) return {};
  return error("schema", "this version reads schema " + std::to_string(known) + " only");
}

std::string ObjectReader::path(std::string_view key) const {
  return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
}

uint32_t ObjectReader::line_of(std::string_view key) const {
  const size_t bracket = std::min(key.find('['), key.size());
  const Json* found = find(key.substr(0, bracket));
  if (found == nullptr) return line_;
  const Json::Array* list = found->as_array();
  size_t index = 0;
  const char* digits = key.data() + std::min(bracket + 1, key.size());
  const bool indexed = std::from_chars(digits, key.data() + key.size(), index).ec == std::errc();
  return list != nullptr && indexed && index < list->size() ? (*list)[index].line() : found->line();
}

std::string ObjectReader::place(std::string_view key) const { return path(key) + in_line(line_of(key)); }

Error ObjectReader::error(std::string_view key, std::string_view what) const {
  return Error{Errc::invalid, 0, place(key) + ": " + std::string(what)};
}

std::string in_line(uint32_t line) { return line == 0 ? "" : " (line " + std::to_string(line) + ")"; }

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

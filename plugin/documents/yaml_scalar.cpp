#include "plugin/documents/yaml_scalar.h"

#include "common/text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <initializer_list>
#include <optional>

namespace vfrail::plugin {

namespace {

bool is_one_of(const std::string& text, std::initializer_list<const char*> words) {
  return std::any_of(words.begin(), words.end(), [&](const char* word) { return text == word; });
}

// In decimal, or with 0x, 0o, 0b or a leading 0 (octal), as Go reads it.
std::optional<int64_t> integer(std::string_view text) {
  const bool minus = text.starts_with('-');
  if (minus || text.starts_with('+')) text.remove_prefix(1);
  int base = 10;
  for (const auto& [prefix, of_prefix] : {std::pair{"0x", 16}, {"0X", 16}, {"0o", 8}, {"0b", 2}}) {
    if (!text.starts_with(prefix)) continue;
    base = of_prefix;
    text.remove_prefix(2);
  }
  if (base == 10 && text.size() > 1 && text.front() == '0') base = 8;
  if (text.empty() || text.front() == '-') return std::nullopt;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return minus ? -value : value;
}

// [-+]?[0-9]*[.]?[0-9]+([eE][-+][0-9]+)?: 15e3 is a text, as in Go, and so the PCI device 15e3 needs no
// quotes.
bool is_real(std::string_view text) {
  const auto digits = [&text] {
    const size_t count = std::min(text.find_first_not_of("0123456789"), text.size());
    text.remove_prefix(count);
    return count > 0;
  };
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  const bool whole = digits();
  const bool point = text.starts_with('.');
  if (point) text.remove_prefix(1);
  if (!(point ? digits() : whole)) return false;
  if (text.empty()) return true;
  if (text.size() < 3 || (text[0] != 'e' && text[0] != 'E') || (text[1] != '-' && text[1] != '+'))
    return false;
  text.remove_prefix(2);
  return digits() && text.empty();
}

Json resolve(const std::string& text) {
  if (is_one_of(text, {"", "~", "null", "Null", "NULL"})) return {};
  if (is_one_of(text, {"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"})) return true;
  if (is_one_of(text, {"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"})) return false;
  if (const auto number = integer(text)) return *number;
  if (is_real(text)) {
    const double number = std::strtod(text.c_str(), nullptr);
    if (std::isfinite(number)) return number;
  }
  return text;
}

}  // namespace

Result<Json> read_yaml_scalar(const std::string& tag, const std::string& text) {
  const std::string known = "tag:yaml.org,2002:";
  if (!is_utf8(text)) return Error{Errc::invalid, 0, "a text that is not UTF-8"};
  if (tag == "!" || tag == known + "str") return Json(text);
  if (is_one_of(tag, {"", "?"})) return resolve(text);
  for (const char* type : {"int", "float", "bool", "null"}) {
    if (tag == known + type) return resolve(text);
  }
  return Error{Errc::invalid, 0, "a tag that is not known: " + tag};
}

}  // namespace vfrail::plugin

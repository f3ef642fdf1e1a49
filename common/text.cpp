#include "common/text.h"

#include <algorithm>
#include <charconv>

namespace vfrail {

namespace {

// The bytes of the character that `text` starts with (RFC 3629, section 4); 0 if it starts with none.
size_t character_size(std::string_view text) {
  const auto byte = [&](size_t at) { return at < text.size() ? static_cast<unsigned char>(text[at]) : 0U; };
  const auto follows = [&](size_t at) { return (byte(at) & 0xC0U) == 0x80U; };
  const unsigned first = byte(0);
  const unsigned second = byte(1);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF && follows(1)) return 2;
  const bool surrogate = first == 0xED && second > 0x9F;
  const bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool beyond = first > 0xF4 || (first == 0xF4 && second > 0x8F);
  if (first < 0xE0 || surrogate || overlong || beyond || !follows(1) || !follows(2)) return 0;
  if (first < 0xF0) return 3;
  return follows(3) ? 4 : 0;
}

constexpr size_t kMaxLabel = 63;

bool is_dns_part(std::string_view text) {
  return !text.empty() && text.front() != '-' && text.back() != '-' &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; });
}

}  // namespace

std::string joined(const std::vector<std::string>& texts, std::string_view separator) {
  std::string out;
  for (const std::string& text : texts) {
    if (!out.empty()) out += separator;
    out += text;
  }
  return out;
}

std::vector<std::string> split(std::string_view text, std::string_view separators) {
  std::vector<std::string> out;
  for (size_t begin = text.find_first_not_of(separators); begin < text.size();) {
    const size_t end = std::min(text.find_first_of(separators, begin), text.size());
    out.emplace_back(text.substr(begin, end - begin));
    begin = text.find_first_not_of(separators, end);
  }
  return out;
}

bool is_utf8(std::string_view text) {
  while (true) {
    // Most texts have ASCII only.
    const auto other = std::find_if(text.begin(), text.end(), [](unsigned char c) { return c >= 0x80; });
    text.remove_prefix(static_cast<size_t>(other - text.begin()));
    if (text.empty()) return true;
    const size_t size = character_size(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
}

bool has_control_characters(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; });
}

std::string well_formed(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t size = character_size(text);
    out += size > 0 ? text.substr(0, size) : "\xEF\xBF\xBD";
    text.remove_prefix(std::max<size_t>(size, 1));
  }
  return out;
}

bool is_dns_label(std::string_view text) { return text.size() <= kMaxLabel && is_dns_part(text); }

bool is_dns_subdomain(std::string_view text, size_t most) {
  if (text.size() > most) return false;
  while (true) {
    const size_t dot = text.find('.');
    if (!is_dns_part(text.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

constexpr size_t kFirstFew = 8;

std::string first_few(const std::vector<std::string>& words) {
  std::string out;
  const size_t shown = words.size() <= kFirstFew ? words.size() : kFirstFew - 1;
  for (size_t i = 0; i < shown; ++i) out += (i == 0 ? "" : " ") + words[i];
  if (shown < words.size()) out += " and " + std::to_string(words.size() - shown) + " more";
  return out;
}

std::optional<uint32_t> parse_decimal(std::string_view text) {
  uint32_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return out;
}

std::string proc_field(std::string_view text, std::string_view name) {
  for (const std::string& line : split(text, "\n")) {
    const auto words = split(line, ": \t");
    if (words.size() > 1 && words[0] == name) return words[1];
  }
  return {};
}

std::string counted(size_t number, std::string_view noun) {
  return std::to_string(number) + " " + std::string(noun) + (number == 1 ? "" : "s");
}

}  // namespace vfrail

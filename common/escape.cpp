#include "common/escape.h"

#include "common/text.h"

#include <algorithm>
#include <iterator>

namespace vfrail {

namespace {

// Of a whole character as is_utf8() takes it (RFC 3629, section 3).
char32_t code_point(std::string_view character) {
  const auto first = static_cast<unsigned char>(character.front());
  if (character.size() == 1) return first;
  char32_t out = first & (0x7FU >> character.size());
  for (const char byte : character.substr(1)) out = out << 6 | (static_cast<unsigned char>(byte) & 0x3FU);
  return out;
}

struct CodeRange {
  char32_t first;
  char32_t last;
};

// Control characters and formats (Unicode's categories Cc, and of Cf, Zl, Zp those that change what is around
// them).
constexpr CodeRange kNotShown[] = {{0x00, 0x1F},     {0x7F, 0x9F},     {0x61C, 0x61C},
                                   {0x200B, 0x200F}, {0x2028, 0x202E}, {0x2060, 0x206F},
                                   {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB}, {0xE0000, 0xE007F}};

bool is_shown(std::string_view character) {
  const char32_t code = code_point(character);
  return std::none_of(std::begin(kNotShown), std::end(kNotShown),
                      [&](const CodeRange& range) { return code >= range.first && code <= range.last; });
}

constexpr std::string_view kHex = "0123456789abcdef";

void append_byte(char byte, std::string& out) {
  const auto value = static_cast<unsigned char>(byte);
  out += "\\x";
  out += kHex[value >> 4];
  out += kHex[value & 15U];
}

void append_unit(char32_t unit, std::string& out) {
  out += "\\u";
  for (const unsigned shift : {12U, 8U, 4U, 0U}) out += kHex[unit >> shift & 15U];
}

// As JSON escapes a character: beyond 16 bits by two surrogates (RFC 8259, section 7).
void append_code(char32_t code, std::string& out) {
  if (code < 0x10000) return append_unit(code, out);
  append_unit(0xD800 + ((code - 0x10000) >> 10), out);
  append_unit(0xDC00 + ((code - 0x10000) & 0x3FF), out);
}

bool is_plain_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return c >= ' ' && c < 0x7F; });
}

// The bytes of the character that the text starts with; 0 if it starts with none.
size_t character_size(std::string_view text) {
  for (size_t size = 1; size <= std::min<size_t>(text.size(), 4); ++size) {
    if (is_utf8(text.substr(0, size))) return size;
  }
  return 0;
}

}  // namespace

std::string escaped(std::string_view text) {
  if (is_plain_ascii(text)) return std::string(text);
  std::string out;
  while (!text.empty()) {
    const size_t size = character_size(text);
    const std::string_view character = text.substr(0, std::max<size_t>(size, 1));
    if (size > 0 && is_shown(character))
      out += character;
    else
      for (const char byte : character) append_byte(byte, out);
    text.remove_prefix(character.size());
  }
  return out;
}

std::string escaped_json(std::string json) {
  // Blanks and line ends between the values are not escaped.
  const auto needs_care = [](unsigned char c) { return c >= 0x7F; };
  if (std::none_of(json.begin(), json.end(), needs_care)) return json;
  std::string out;
  for (std::string_view text = json; !text.empty();) {
    const size_t known = character_size(text);  // 0: not UTF-8, so not JSON; left unchanged
    const size_t size = std::max<size_t>(known, 1);
    const std::string_view character = text.substr(0, size);
    const bool plain =
        known == 0 || !needs_care(static_cast<unsigned char>(character.front())) || is_shown(character);
    if (plain)
      out += character;
    else
      append_code(code_point(character), out);
    text.remove_prefix(size);
  }
  return out;
}

}  // namespace vfrail

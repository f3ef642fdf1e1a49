#include "common/errors/error_id.h"

#include <array>

namespace vfrail {

namespace {

std::array<std::span<const ErrorRow>, 5> error_parts() {
  return {general_errors(), attach_errors(), address_errors(), plugin_errors(), health_errors()};
}

}  // namespace

const ErrorRow& row_of(ErrorId id) {
  auto at = static_cast<size_t>(id);
  for (const auto& part : error_parts()) {
    if (at < part.size()) return part[at];
    at -= part.size();
  }
  return row_of(ErrorId::system_call);  // unreachable: a test holds that each enumerator has its row
}

std::string id_text(ErrorId id) { return std::string(row_of(id).name); }

std::string text_with_id(const std::string& text, ErrorId id) { return text + " [" + id_text(id) + "]"; }

std::vector<const ErrorRow*> all_errors() {
  std::vector<const ErrorRow*> out;
  for (const auto& part : error_parts()) {
    for (const ErrorRow& row : part) out.push_back(&row);
  }
  return out;
}

std::string upper_id(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool lower = c >= 'a' && c <= 'z';
    out += c == '_' ? '-' : lower ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return out;
}

std::optional<ErrorId> parse_error_id(std::string_view text) {
  const std::string wanted = upper_id(text);
  for (const ErrorRow* row : all_errors()) {
    if (row->name == wanted || row->name.substr(3) == wanted) return row->id;
  }
  return std::nullopt;
}

}  // namespace vfrail

#include "plugin/documents/yaml_text.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <yaml-cpp/yaml.h>

namespace vfrail::plugin {

namespace {

// What a reader of YAML 1.1 or 1.2 would not take for a text.
bool is_ambiguous(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  constexpr std::array<std::string_view, 9> kWords = {"true", "false", "yes", "no", "on",
                                                      "off",  "null",  "y",   "n"};
  return std::find(kWords.begin(), kWords.end(), text) != kWords.end();
}

bool is_plain(const std::string& text) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto is_harmless = [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.' || c == '/' || c == ' ';
  };
  return !text.empty() && is_letter(text.front()) && text.back() != ' ' &&
         std::all_of(text.begin(), text.end(), is_harmless) && !is_ambiguous(text);
}

// Several lines that a block shows as they are: its style keeps the one line end at the end, and takes its
// indentation from the first line.
bool is_block(const std::string& text) {
  const auto is_printed = [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); };
  return text.find('\n') + 1 < text.size() && text.ends_with('\n') && !text.ends_with("\n\n") &&
         text.front() != ' ' && text.front() != '\n' && std::all_of(text.begin(), text.end(), is_printed);
}

void emit_text(const std::string& text, YAML::Emitter& out) {
  if (is_block(text)) {
    out << YAML::Literal << text;
    return;
  }
  if (!is_plain(text)) out << YAML::DoubleQuoted;
  out << text;
}

void emit(const Json& json, YAML::Emitter& out) {
  if (const auto* object = json.as_object()) {
    if (object->empty()) out << YAML::Flow;
    out << YAML::BeginMap;
    for (const auto& [key, value] : *object) {
      out << YAML::Key;
      emit_text(key, out);
      out << YAML::Value;
      emit(value, out);
    }
    out << YAML::EndMap;
  } else if (const auto* array = json.as_array()) {
    if (array->empty()) out << YAML::Flow;
    out << YAML::BeginSeq;
    for (const Json& value : *array) emit(value, out);
    out << YAML::EndSeq;
  } else if (const auto* text = json.as_text()) {
    emit_text(*text, out);
  } else if (const auto* number = json.as_int()) {
    out << *number;
  } else if (const auto* boolean = json.as_bool()) {
    out << *boolean;
  } else if (const auto* real = json.as_double()) {
    out << *real;
  } else {
    out << YAML::Null;
  }
}

}  // namespace

std::string to_yaml(const Json& json) {
  YAML::Emitter out;
  out.SetNullFormat(YAML::LowerNull);
  out.SetOutputCharset(YAML::EscapeNonAscii);  // of names that a pod has given, too
  emit(json, out);
  return std::string(out.c_str()) + "\n";
}

}  // namespace vfrail::plugin

#include "plugin/observe/metrics/metrics_text.h"

#include "common/escape.h"

#include <array>
#include <charconv>

namespace vfrail::plugin {

namespace {

// What the format escapes in a label's value; and, as names of devices and pods come from others, control
// characters of terminals.
void append_escaped(std::string_view value, std::string& out) {
  for (const char c : escaped(value)) {
    if (c == '\\')
      out += "\\\\";
    else if (c == '"')
      out += "\\\"";
    else
      out += c;
  }
}

}  // namespace

std::string MetricsText::number(double value) {
  std::array<char, 400> buffer{};  // the largest double has 309 digits
  const auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed);
  return {buffer.data(), end.ptr};
}

void MetricsText::begin(std::string_view name, std::string_view type, std::string_view help) {
  name_ = name;
  out_.append("# HELP ").append(name).append(" ").append(help).append("\n");
  out_.append("# TYPE ").append(name).append(" ").append(type).append("\n");
}

void MetricsText::sample(std::string_view suffix, Labels labels, const std::string& value) {
  out_.append(name_).append(suffix);
  char separator = '{';
  for (const auto& [key, text] : labels) {
    if (text.empty()) continue;
    out_ += separator;
    out_.append(key).append("=\"");
    append_escaped(text, out_);
    out_ += '"';
    separator = ',';
  }
  if (separator == ',') out_ += '}';
  out_.append(" ").append(value).append("\n");
}

}  // namespace vfrail::plugin

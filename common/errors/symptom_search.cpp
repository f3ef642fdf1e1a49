#include "common/errors/symptom_search.h"

#include <algorithm>
#include <optional>

namespace vfrail {

namespace {

constexpr size_t kMaxShown = 120;

std::vector<std::string> parts_of(std::string_view message) {
  std::vector<std::string> out;
  while (!message.empty()) {
    const size_t end = std::min(message.find('*'), message.size());
    if (end > 0) out.push_back(in_lower_case(message.substr(0, end)));
    message.remove_prefix(std::min(end + 1, message.size()));
  }
  return out;
}

// Where the parts begin in a line, one after the other. No value: one is missing.
std::optional<size_t> find_parts(std::string_view line, const std::vector<std::string>& parts) {
  std::optional<size_t> begin;
  size_t at = 0;
  for (const std::string& part : parts) {
    const size_t found = line.find(part, at);
    if (found == line.npos) return std::nullopt;
    if (!begin) begin = found;
    at = found + part.size();
  }
  return begin;
}

}  // namespace

std::string in_lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

std::string shown_message(std::string_view message) {
  std::string out;
  for (const char c : message) out += c == '*' ? std::string("...") : std::string(1, c);
  out.erase(out.find_last_not_of(' ') + 1);
  return out;
}

SymptomSearch::SymptomSearch() {
  for (const Symptom& symptom : all_symptoms()) {
    first_.push_back({&symptom, 0, {}});
    for (const std::string_view message : symptom.messages) {
      if (!message.empty()) messages_.push_back({&symptom, parts_of(message)});
    }
  }
}

bool SymptomSearch::add_line(std::string_view line) {
  ++lines_;
  line = line.substr(0, kMaxSymptomLine);
  const std::string lower = in_lower_case(line);
  for (const Message& message : messages_) {
    const auto at = find_parts(lower, message.parts);
    if (!at) continue;
    SeenSymptom& first = first_[static_cast<size_t>(message.symptom->id)];
    if (first.line == 0) first = {message.symptom, lines_, std::string(line.substr(*at, kMaxShown))};
    return true;
  }
  return false;
}

std::vector<SeenSymptom> SymptomSearch::seen() const {
  std::vector<SeenSymptom> out;
  for (const SeenSymptom& one : first_) {
    if (one.line == 0) continue;
    const bool follows = !out.empty() && !out.front().symptom->is_consequence;
    if (!one.symptom->is_consequence || !follows) out.push_back(one);
  }
  return out;
}

std::vector<SeenSymptom> seen_symptoms(std::string_view text) {
  SymptomSearch search;
  text = text.substr(0, kMaxSearched);
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    search.add_line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return search.seen();
}

}  // namespace vfrail

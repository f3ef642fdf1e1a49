#include "plugin/admin/doctor/explain_search.h"

#include "common/errors/symptom_search.h"
#include "common/text.h"
#include "plugin/admin/doctor/doctor.h"

#include <algorithm>

namespace vfrail::plugin {

namespace {

constexpr size_t kMaxWords = 32;
constexpr size_t kShortestWord = 3;
constexpr size_t kWordsForMost = 3;
// Among what an entry is called, or in its texts.
constexpr size_t kInTitle = 3;
constexpr size_t kInText = 1;
constexpr size_t kWholeInTitle = 20;

struct Entry {
  Explained what;
  std::string title;  // both in lower case
  std::string text;
};

std::string words_of(std::initializer_list<std::string_view> texts) {
  std::string out;
  for (const std::string_view text : texts) out.append(text).append("\n");
  return in_lower_case(out);
}

std::string name_of_check(std::string_view id) {
  for (const NodeCheck& check : node_checks()) {
    if (check.id == id) return check.name;
  }
  return {};
}

// What is seen first comes first among equals: messages, then checks, then errors.
std::vector<Entry> all_entries() {
  std::vector<Entry> out;
  for (const Symptom& symptom : all_symptoms()) {
    std::string title;
    for (const std::string_view message : symptom.messages) title += shown_message(message) + "\n";
    out.push_back({{.symptom = &symptom, .message = symptom.messages[0]},
                   in_lower_case(title),
                   words_of({symptom.of, symptom.cause, symptom.remedy, symptom.ids})});
  }
  for (const auto rows : {pod_check_rows(), node_check_rows()}) {
    for (const CheckRow& row : rows)
      out.push_back({{.check = &row},
                     words_of({row.id, name_of_check(row.id)}),
                     words_of({row.symptom, row.cause, row.remedy})});
  }
  for (const ErrorRow* row : all_errors())
    out.push_back({{.error = row}, words_of({row->name}), words_of({row->symptom, row->cause, row->remedy})});
  return out;
}

std::vector<std::string> search_words(const std::string& lower) {
  std::vector<std::string> out;
  for (const std::string& word : split(lower, " \t\r\n\"'`,;:()[]{}<>=*")) {
    const bool number = word.find_first_not_of("0123456789.") == std::string::npos;
    if (word.size() >= kShortestWord && !number && out.size() < kMaxWords) out.push_back(word);
  }
  return out;
}

struct Scored {
  size_t score = 0;  // 0: too few of the words are in it, or none in what it is called
  Explained what;
};

// Whether a line of what it is called has all words: one message, and not words of several.
bool has_in_one_line(const Entry& entry, const std::vector<std::string>& words) {
  for (const std::string& line : split(entry.title, "\n")) {
    if (std::all_of(words.begin(), words.end(),
                    [&](const std::string& word) { return line.find(word) != line.npos; }))
      return true;
  }
  return false;
}

Scored score(const Entry& entry, const std::vector<std::string>& words, const std::string& phrase,
             size_t wanted) {
  size_t found = 0, in_titles = 0, out = 0;
  for (const std::string& word : words) {
    const bool in_title = entry.title.find(word) != std::string::npos;
    const bool in_text = entry.text.find(word) != std::string::npos;
    found += in_title || in_text ? 1 : 0;
    in_titles += in_title ? 1 : 0;
    out += in_title ? kInTitle : in_text ? kInText : 0;
  }
  if (found < wanted || (in_titles == 0 && wanted < words.size())) return {};
  Explained what = entry.what;
  what.guessed = words.size() > 1 && !has_in_one_line(entry, words);
  if (!what.guessed && words.size() > 1) out += kWholeInTitle;
  return {out + (entry.title.find(phrase) != std::string::npos ? kWholeInTitle : 0), what};
}

std::vector<Explained> best_of(const std::vector<std::string>& words, const std::string& phrase,
                               size_t wanted) {
  std::vector<Scored> scored;
  for (const Entry& entry : all_entries()) {
    if (const Scored one = score(entry, words, phrase, wanted); one.score > 0) scored.push_back(one);
  }
  std::stable_sort(scored.begin(), scored.end(),
                   [](const Scored& a, const Scored& b) { return a.score > b.score; });
  std::vector<Explained> out;
  for (const Scored& one : scored) out.push_back(one.what);
  return out;
}

// "... in use by another pod [VF-DEVICE-IN-USE]".
void add_named(std::string_view text, std::vector<Explained>& out) {
  for (const std::string& word : split(text, " \t\r\n\"'`,;:()[]{}<>=.")) {
    if (out.size() == kMaxAnswers) return;
    if (!upper_id(word).starts_with("VF-")) continue;
    if (const auto id = parse_error_id(word))
      out.push_back({.error = &row_of(*id)});
    else if (const CheckRow* row = find_row_of_check(word))
      out.push_back({.check = row});
  }
}

std::string_view message_in(const Symptom& symptom, const std::string& line) {
  // The line begins with the message, of which "*" may have ended the comparison.
  const std::string lower = in_lower_case(line);
  for (const std::string_view message : symptom.messages) {
    const std::string begin = in_lower_case(message.substr(0, message.find('*')));
    if (!begin.empty() && lower.starts_with(begin)) return message;
  }
  return symptom.messages[0];
}

}  // namespace

const CheckRow* find_row_of_check(std::string_view text) {
  const CheckRow* row = find_check_row(node_check_rows(), text);
  return row != nullptr ? row : find_check_row(pod_check_rows(), text);
}

std::vector<Explained> search_explained(std::string_view text) {
  text = text.substr(0, kMaxSearched);
  std::vector<Explained> out;
  add_named(text, out);
  for (const SeenSymptom& seen : seen_symptoms(text))
    out.push_back({.symptom = seen.symptom, .message = message_in(*seen.symptom, seen.text)});
  if (out.empty()) {
    const std::string lower = in_lower_case(text);
    const std::string phrase = lower.substr(0, lower.find_last_not_of(" \r\n") + 1);
    const auto words = search_words(lower);
    // Of a log of several lines all that counts is the messages in it.
    if (words.empty() || phrase.find('\n') != phrase.npos) return out;
    out = best_of(words, phrase, words.size());
    if (out.empty() && words.size() >= kWordsForMost) out = best_of(words, phrase, words.size() / 2 + 1);
  }
  if (out.size() > kMaxAnswers) out.resize(kMaxAnswers);
  return out;
}

}  // namespace vfrail::plugin

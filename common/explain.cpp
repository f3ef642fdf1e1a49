#include "common/explain.h"

#include "common/errors/symptom_search.h"
#include "common/json.h"
#include "common/text.h"

#include <algorithm>

namespace vfrail {

namespace {

constexpr size_t kMaxWord = 60;

}  // namespace

std::string_view headline(const ErrorRow& row) {
  const size_t end = std::min(row.symptom.find(". "), row.symptom.size() - 1);
  return row.symptom.substr(0, end);
}

std::string explanation(const ErrorRow& row) {
  return explanation(row.name, {row.name, row.symptom, row.cause, row.remedy});
}

std::string explanation(std::string_view title, const CheckRow& row) {
  std::string out(title);
  out.append("\n  Symptom: ").append(row.symptom);
  out.append("\n  Cause:   ").append(row.cause);
  out.append("\n  Remedy:  ").append(row.remedy).append("\n");
  return out;
}

std::string explanation(const Symptom& symptom, std::string_view message) {
  std::string out = "\"" + shown_message(message) + "\" (";
  out.append(symptom.of).append(")");
  out.append("\n  Cause:   ").append(symptom.cause);
  out.append("\n  Remedy:  ").append(symptom.remedy);
  out.append("\n  See:     ").append(joined(split(symptom.ids, " "))).append("\n");
  return out;
}

std::string error_list() {
  size_t width = 0;
  for (const ErrorRow* row : all_errors()) width = std::max(width, row->name.size());
  std::string out;
  for (const ErrorRow* row : all_errors()) {
    out.append(row->name).append(width + 2 - row->name.size(), ' ').append(headline(*row)).append("\n");
  }
  return out;
}

std::vector<std::string> all_error_names() {
  std::vector<std::string> out;
  for (const ErrorRow* row : all_errors()) out.emplace_back(row->name);
  return out;
}

Error no_such_id(std::string_view text) {
  const std::string word(text.substr(0, kMaxWord));
  const std::string wanted = upper_id(word);
  const std::vector<std::string> known = all_error_names();
  std::vector<std::string> with_word;
  for (const std::string& name : known) {
    if (wanted.size() > 2 && name.find(wanted) != std::string::npos) with_word.push_back(name);
  }
  const std::string meant = nearest_name(wanted.starts_with("VF-") ? wanted : "VF-" + wanted, known);
  std::string hint = "; explain without an id lists all";
  if (!with_word.empty()) hint = "; there are " + first_few(with_word);
  if (!meant.empty()) hint = "; \"" + meant + "\" is probably meant";
  return {Errc::not_found, 0, "\"" + word + "\" is not a known id" + hint};
}

}  // namespace vfrail

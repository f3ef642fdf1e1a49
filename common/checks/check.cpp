#include "common/checks/check.h"

#include "common/escape.h"
#include "common/terminal.h"
#include "common/text.h"

#include <algorithm>
#include <functional>
#include <map>

namespace vfrail {

namespace {

constexpr size_t kIndent = 8;  // of what continues a line

std::string padded(std::string text, size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text;
}

// The longest word, "not-applicable", stands as a dash.
std::string render_result(const CheckReport& report, const CheckResult& result, size_t width) {
  const std::string word = result.finding == Finding::not_applicable ? "-" : word_of(result.finding);
  const std::string line =
      padded(word, 8) + report.id + " " + padded(report.name, 19) + " " + escaped(result.text);
  std::string out = wrapped(line, width, kIndent) + "\n";
  if (!result.remedy.empty())
    out += std::string(kIndent, ' ') +
           wrapped("remedy: " + escaped(result.remedy), width - std::min(width, kIndent), kIndent) + "\n";
  return out;
}

std::string count_findings(const std::vector<CheckReport>& reports) {
  std::map<Finding, size_t, std::greater<>> counts;
  for (const CheckReport& report : reports) {
    for (const CheckResult& result : report.results) ++counts[result.finding];
  }
  std::vector<std::string> out;
  for (const auto& [finding, count] : counts) out.push_back(std::to_string(count) + " " + word_of(finding));
  return joined(out);
}

}  // namespace

const char* word_of(Finding finding) {
  switch (finding) {
    case Finding::not_applicable:
      return "not-applicable";
    case Finding::good:
      return "ok";
    case Finding::unknown:
      return "unknown";
    case Finding::note:
      return "note";
    case Finding::advice:
      return "advice";
    case Finding::fault:
      break;
  }
  return "fault";
}

std::optional<Finding> parse_fail_on(std::string_view word) {
  for (const Finding finding : {Finding::note, Finding::advice, Finding::fault}) {
    if (word == word_of(finding)) return finding;
  }
  return std::nullopt;
}

bool reaches(const std::vector<CheckReport>& reports, Finding finding) {
  return std::any_of(reports.begin(), reports.end(), [&](const CheckReport& report) {
    return std::any_of(report.results.begin(), report.results.end(),
                       [&](const CheckResult& result) { return result.finding >= finding; });
  });
}

std::string render_checks(const std::vector<CheckReport>& reports, const CheckLayout& layout) {
  std::string out;
  for (const Finding finding : {Finding::fault, Finding::advice, Finding::note, Finding::unknown,
                                Finding::good, Finding::not_applicable}) {
    const bool is_folded = finding == Finding::good || finding == Finding::not_applicable;
    for (const CheckReport& report : reports) {
      if (is_folded && !layout.all && report.id != layout.asked) continue;
      for (const CheckResult& result : report.results) {
        if (result.finding == finding) out += render_result(report, result, layout.width);
      }
    }
  }
  return out + count_findings(reports) + (layout.all ? "" : "; --all shows each") + "\n";
}

Json checks_json(const std::vector<CheckReport>& reports) {
  Json out = Json::array();
  for (const CheckReport& report : reports) {
    for (const CheckResult& result : report.results) {
      out.push(Json::object()
                   .set("id", report.id)
                   .set("name", report.name)
                   .set("finding", word_of(result.finding))
                   .set("text", result.text)
                   .set("remedy", result.remedy));
    }
  }
  return out;
}

}  // namespace vfrail

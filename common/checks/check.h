// Check: what a program checks of its surroundings, and what it found: of the node (`vfrail doctor`), of a
// pod (`vfrail-check`). People and programs get the same results. Pure; each program has its own list of
// checks.
#pragma once

#include "common/json.h"
#include "common/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vfrail {

enum class Finding : uint8_t {
  not_applicable,  // there is nothing here that the check is about
  good,
  unknown,  // cannot be read here
  note,     // works; worth knowing
  advice,   // works, but not as well as it could
  fault,    // pods will fail, or do
};

struct CheckResult {
  Finding finding = Finding::good;
  std::string text;         // which object, and what was found
  std::string remedy = {};  // what to do; of advice and faults
};
using CheckResults = std::vector<CheckResult>;

// `Subject` is what the check reads.
template <class Subject>
struct Check {
  const char* id;     // "VF-N04", which never changes its meaning
  const char* name;   // "rdma-netns-mode"
  const char* holds;  // what is so when it finds nothing
  // Nothing found: good. An error: what it needs cannot be read.
  Result<CheckResults> (*run)(const Subject&);
  // What the check is about and is not here ("no GPU"): then nothing found is not good. Empty: it is here.
  // Null: it always is.
  std::string (*lacks)(const Subject&) = nullptr;
};

struct CheckReport {
  std::string id;
  std::string name;
  CheckResults results;  // at least one
};

template <class Subject>
CheckReport run_check(const Check<Subject>& check, const Subject& subject) {
  auto results = check.run(subject);
  if (!results) return {check.id, check.name, {{Finding::unknown, results.error().text}}};
  if (results->empty() && check.lacks != nullptr) {
    if (std::string what = check.lacks(subject); !what.empty())
      return {check.id, check.name, {{Finding::not_applicable, std::move(what)}}};
  }
  if (results->empty()) return {check.id, check.name, {{Finding::good, check.holds}}};
  return {check.id, check.name, *std::move(results)};
}

// "not-applicable", "ok", "unknown", "note", "advice", "fault".
const char* word_of(Finding finding);
// From which finding on a program fails: of kFailOn, or nothing.
inline constexpr const char* kFailOn = "fault|advice|note";
std::optional<Finding> parse_fail_on(std::string_view word);

// Whether one of them is such a finding, or worse.
bool reaches(const std::vector<CheckReport>& reports, Finding finding);

struct CheckLayout {
  bool all = false;             // those too that are ok or not applicable
  std::string_view asked = {};  // the id of a check whose answer was asked for: shown also if it is ok
  size_t width = 0;             // columns; 0: lines end where they end
};
// A line for each result, the worst first, its remedy below it, and how many there are of each kind.
std::string render_checks(const std::vector<CheckReport>& reports, const CheckLayout& layout);
// A list of objects with id, name, finding, text and remedy.
Json checks_json(const std::vector<CheckReport>& reports);

}  // namespace vfrail

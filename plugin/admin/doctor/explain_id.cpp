#include "plugin/admin/doctor/explain_id.h"

#include "common/errors/error_id.h"
#include "common/explain.h"
#include "common/json.h"
#include "common/terminal.h"
#include "common/text.h"
#include "plugin/admin/console/exit.h"
#include "plugin/admin/doctor/doctor.h"
#include "plugin/admin/report/report.h"
#include "plugin/device/match/pools.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <vector>

namespace vfrail::plugin {

namespace {

// The text of a row behind its label.
constexpr size_t kIndent = 11;
constexpr size_t kLeastWidth = 40;

using Rows = std::vector<const ErrorRow*>;

void add(ErrorId id, Rows& out) {
  const ErrorRow* row = &row_of(id);
  if (std::find(out.begin(), out.end(), row) == out.end()) out.push_back(row);
}

// Metrics have a word of their own for a reason; "not_selected" is one of two.
Rows find_reason(const std::string& word) {
  Rows out;
  for (auto code = FaultCode::port_down; code <= kLastFaultCode;
       code = static_cast<FaultCode>(static_cast<uint8_t>(code) + 1)) {
    if (word == name_of(code)) add(id_of(code), out);
  }
  for (auto kind = LeftOut::Kind::has_vfs; kind <= kLastLeftOutKind;
       kind = static_cast<LeftOut::Kind>(static_cast<uint8_t>(kind) + 1)) {
    if (word == name_of(kind)) add(id_of(kind), out);
  }
  return out;
}

Result<Rows> find_rows(const std::string& word) {
  if (word.empty()) return all_errors();
  Rows out = find_reason(word);
  if (const auto id = parse_error_id(word)) add(*id, out);
  if (out.empty()) return no_such_id(word);
  return out;
}

// "VF-N04", also without VF- and in lower case.
std::optional<NodeCheck> find_check(const std::string& text) {
  const std::string word = upper_id(text);
  for (const NodeCheck& check : node_checks()) {
    if (word == check.id || "VF-" + word == check.id) return check;
  }
  return std::nullopt;
}

// "VF-P07" of "p07": such ids are vfrail-check's. Empty for another text.
std::string pod_check(const std::string& text) {
  const std::string word = upper_id(text);
  const std::string id = word.starts_with("VF-") ? word : "VF-" + word;
  const auto is_digit = [](unsigned char c) { return std::isdigit(c) != 0; };
  return id.size() == 6 && id[3] == 'P' && std::all_of(id.begin() + 4, id.end(), is_digit) ? id : "";
}

Error is_a_check(std::string_view id, const char* what, const std::string& command) {
  return {Errc::not_found, 0, std::string(id) + " is " + what + ", no error: see " + command};
}

Json as_json(const Rows& rows) {
  Json list = Json::array();
  for (const ErrorRow* row : rows) {
    list.push(Json::object()
                  .set("id", row->name)
                  .set("symptom", row->symptom)
                  .set("cause", row->cause)
                  .set("remedy", row->remedy));
  }
  return Json::object().set("schema_version", kSchemaVersion).set("errors", std::move(list));
}

// Each line as wide as that, what does not fit behind the label.
std::string wrapped_lines(const std::string& text, size_t width) {
  const size_t column = width == 0 ? 0 : std::max(width, kLeastWidth) - kIndent;
  std::string out;
  for (const std::string& line : split(text, "\n")) {
    const bool labelled = line.starts_with(' ');
    const auto parts = split(wrapped(line.substr(labelled ? kIndent : 0), column, 0), "\n");
    out += (labelled ? line.substr(0, kIndent) : "") + joined(parts, "\n" + std::string(kIndent, ' ')) + "\n";
  }
  return out;
}

// One line, however long: Markdown joins lines, and a command must not be broken.
std::string labelled(const char* label, std::string_view text) {
  return std::string("**").append(label).append(":** ").append(text).append("\n");
}

}  // namespace

Result<std::string> explain_id(const ExplainIdOptions& options, size_t width) {
  if (const auto check = find_check(options.id)) {
    if (options.json) return is_a_check(check->id, "a check of the node", "vfrail doctor -o json");
    return std::string(check->id) + " " + check->name + " is a check of the node, which is ok when " +
           check->holds + ". vfrail doctor shows what it found, and the remedy.\n";
  }
  if (const std::string id = pod_check(options.id); !id.empty())
    return is_a_check(id, "a check of a pod", "vfrail-check explain " + id);
  const Rows rows = TRY(find_rows(options.id));
  if (options.json) return as_json(rows).pretty() + "\n";
  if (options.id.empty()) return error_list();
  std::string out;
  for (const ErrorRow* row : rows) out += (out.empty() ? "" : "\n") + wrapped_lines(explanation(*row), width);
  return out;
}

std::vector<std::string> explained_ids() {
  std::vector<std::string> out = all_error_names();
  for (const NodeCheck& check : node_checks()) out.emplace_back(check.id);
  return out;
}

int explain(const ExplainIdOptions& options) {
  const auto text = explain_id(options, find_terminal().width);
  return text ? answer(*text) : fail(kFailed, text.error());
}

std::string errors_document() {
  std::string out;
  for (const ErrorRow* row : all_errors()) {
    out.append(out.empty() ? "" : "\n").append("### ").append(row->name).append("\n\n");
    out += labelled("Symptom", row->symptom) + "\n";
    out += labelled("Cause", row->cause) + "\n";
    out += labelled("Remedy", row->remedy);
  }
  return out;
}

}  // namespace vfrail::plugin

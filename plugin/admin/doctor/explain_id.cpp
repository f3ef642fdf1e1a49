#include "plugin/admin/doctor/explain_id.h"

#include "common/errors/error_id.h"
#include "common/errors/symptom_search.h"
#include "common/explain.h"
#include "common/files.h"
#include "common/json.h"
#include "common/terminal.h"
#include "common/text.h"
#include "plugin/admin/console/exit.h"
#include "plugin/admin/doctor/doctor.h"
#include "plugin/admin/doctor/explain_search.h"
#include "plugin/admin/report/report.h"
#include "plugin/device/match/pools.h"

#include <algorithm>
#include <unistd.h>
#include <vector>

namespace vfrail::plugin {

namespace {

// The text of a row behind its label.
constexpr size_t kIndent = 11;
constexpr size_t kLeastWidth = 40;
constexpr size_t kProseWidth = 80;  // without a terminal

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

// By id, or by the reason of a metric.
std::vector<Explained> find_exactly(const std::string& word) {
  std::vector<Explained> out;
  Rows rows = find_reason(word);
  if (const auto id = parse_error_id(word)) add(*id, rows);
  for (const ErrorRow* row : rows) out.push_back({.error = row});
  if (const CheckRow* row = find_row_of_check(word)) out.push_back({.check = row});
  return out;
}

Result<std::vector<Explained>> find_explained(const std::string& text) {
  auto out = find_exactly(text);
  if (!out.empty()) return out;
  const bool id_alone = upper_id(text).starts_with("VF-") && text.find_first_of(" \n") == std::string::npos;
  if (id_alone) return no_such_id(text);
  out = search_explained(text);
  if (!out.empty()) return out;
  Error unknown = no_such_id(text);
  unknown.text +=
      "; it also takes reasons of metrics, messages of NCCL, UCX, perftest, kubelet, container runtimes and "
      "Multus, and words of what it knows";
  return unknown;
}

// A pod's checks are those of another program, which has their names.
std::string title_of(const CheckRow& row) {
  for (const NodeCheck& check : node_checks()) {
    if (row.id == check.id)
      return std::string(check.id) + " " + check.name + " is a check of the node, which is ok when " +
             check.holds + ": vfrail doctor shows what it found";
  }
  return std::string(row.id) + " is a check of a pod: vfrail-check shows what it found";
}

std::string text_of(const Explained& one) {
  if (one.symptom != nullptr) return explanation(*one.symptom, one.message);
  if (one.check != nullptr) return explanation(title_of(*one.check), *one.check);
  return explanation(*one.error);
}

Json row_json(std::string_view id, std::string_view symptom, std::string_view cause,
              std::string_view remedy) {
  return Json::object().set("id", id).set("symptom", symptom).set("cause", cause).set("remedy", remedy);
}

Json symptom_json(const Symptom& symptom) {
  Json messages = Json::array();
  for (const std::string_view message : symptom.messages) {
    if (!message.empty()) messages.push(shown_message(message));
  }
  Json ids = Json::array();
  for (const std::string& id : split(symptom.ids, " ")) ids.push(id);
  return Json::object()
      .set("messages", std::move(messages))
      .set("of", symptom.of)
      .set("cause", symptom.cause)
      .set("remedy", symptom.remedy)
      .set("ids", std::move(ids));
}

Json as_json(const std::vector<Explained>& found) {
  Json rows = Json::array();
  Json symptoms = Json::array();
  for (const Explained& one : found) {
    if (one.error != nullptr)
      rows.push(row_json(one.error->name, one.error->symptom, one.error->cause, one.error->remedy));
    if (one.check != nullptr)
      rows.push(row_json(one.check->id, one.check->symptom, one.check->cause, one.check->remedy));
    if (one.symptom != nullptr) symptoms.push(symptom_json(*one.symptom));
  }
  return Json::object()
      .set("schema_version", kSchemaVersion)
      .set("guessed", !found.empty() && found.front().guessed)
      .set("symptoms", std::move(symptoms))
      .set("errors", std::move(rows));
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
  std::vector<Explained> found;
  if (!options.id.empty()) found = TRY(find_explained(options.id));
  if (options.id.empty()) {
    if (!options.json) return error_list();
    for (const ErrorRow* row : all_errors()) found.push_back({.error = row});
  }
  if (options.json) return as_json(found).pretty() + "\n";
  std::string out;
  if (!found.empty() && found.front().guessed)
    out = wrapped(
              "That message is not known. Words of it are in what follows, which may be about something "
              "else:",
              width, 0) +
          "\n";
  for (const Explained& one : found) out += (out.empty() ? "" : "\n") + wrapped_lines(text_of(one), width);
  return out;
}

std::vector<std::string> explained_ids() {
  std::vector<std::string> out = all_error_names();
  for (const auto rows : {node_check_rows(), pod_check_rows()}) {
    for (const CheckRow& row : rows) out.emplace_back(row.id);
  }
  return out;
}

int explain(ExplainIdOptions options) {
  if (options.id == "-") {
    auto text = read_stream(STDIN_FILENO, kMaxSearched);
    if (!text) return fail(kFailed, std::move(text.error()).in("read stdin"));
    options.id = *std::move(text);
    if (options.id.empty()) return fail(kFailed, {Errc::invalid, 0, "there is nothing on stdin"});
  }
  const size_t width = find_terminal().width;
  const auto text = explain_id(options, width == 0 ? kProseWidth : width);
  return text ? answer(*text) : fail(kFailed, text.error());
}

std::string symptoms_document() {
  std::string out = "| message | cause | remedy | see |\n|---|---|---|---|\n";
  for (const Symptom& symptom : all_symptoms()) {
    std::vector<std::string> messages;
    for (const std::string_view message : symptom.messages) {
      if (!message.empty()) messages.push_back("`" + shown_message(message) + "`");
    }
    out.append("| ").append(joined(messages)).append(" (").append(symptom.of).append(") | ");
    out.append(symptom.cause).append(" | ").append(symptom.remedy).append(" | ");
    out.append(joined(split(symptom.ids, " "))).append(" |\n");
  }
  return out;
}

std::string errors_document() {
  std::string out;
  for (const ErrorRow* row : all_errors()) {
    out.append(out.empty() ? "" : "\n").append("### ").append(row->name).append("\n\n");
    out.append(row->symptom).append("\n\n");
    out += labelled("Cause", row->cause) + "\n";
    out += labelled("Remedy", row->remedy);
  }
  return out;
}

}  // namespace vfrail::plugin

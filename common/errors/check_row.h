// CheckRow: what it means where a check of a node (`vfrail doctor`) or of a pod (vfrail-check) finds
// something, under the check's id, as error_id.h has it for errors. Pure data: the checks themselves decide,
// and name the objects.
#pragma once

#include <span>
#include <string_view>

namespace vfrail {

// Each text is one to three sentences.
struct CheckRow {
  std::string_view id;       // "VF-N36"
  std::string_view symptom;  // what pods or programs have of it
  std::string_view cause;
  std::string_view remedy;
};

std::span<const CheckRow> node_check_rows();
std::span<const CheckRow> pod_check_rows();

// By its id, also without VF- and in lower case. Null for another text.
const CheckRow* find_check_row(std::span<const CheckRow> rows, std::string_view text);

}  // namespace vfrail

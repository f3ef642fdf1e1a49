// What `explain` of all programs prints: the tables of common/errors as text. Pure.
#pragma once

#include "common/errors/check_row.h"
#include "common/errors/error_id.h"
#include "common/errors/symptom.h"
#include "common/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace vfrail {

// The name, then symptom, cause and remedy in a line each.
std::string explanation(const ErrorRow& row);
// Below a title of the caller's.
std::string explanation(std::string_view title, const CheckRow& row);
// The message and whose it is; then cause, remedy and ids.
std::string explanation(const Symptom& symptom, std::string_view message);

// A line for each: its name and the first sentence of its symptom.
std::string error_list();

// Every name, in the order of the list.
std::vector<std::string> all_error_names();

// Errc::not_found names the id that is nearest.
Error no_such_id(std::string_view text);

// The first sentence of a symptom, without its full stop.
std::string_view headline(const ErrorRow& row);

}  // namespace vfrail

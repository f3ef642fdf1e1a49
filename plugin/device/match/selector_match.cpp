#include "plugin/device/match/selector_match.h"

#include "plugin/device/config/selector_table.h"

namespace vfrail::plugin {

namespace {

FieldMatch evaluate(const SelectorField& field, const Selector& selector, const DeviceFacts& function) {
  return {.field = field.key,
          .fact = field.fact,
          .matches = field.matches(selector, function),
          .wanted = field.wanted(selector),
          .found = field.found(function)};
}

}  // namespace

std::string FieldMatch::text() const { return fact + " is " + found + ", want " + wanted; }

std::optional<std::string> find_mismatch(const Selector& selector, const DeviceFacts& function) {
  for (const SelectorField& field : selector_fields()) {
    if (field.matches && field.is_set(selector) && !field.matches(selector, function))
      return evaluate(field, selector, function).text();
  }
  return std::nullopt;
}

std::vector<FieldMatch> compare(const Selector& selector, const DeviceFacts& function) {
  std::vector<FieldMatch> out;
  for (const SelectorField& field : selector_fields()) {
    if (field.matches && field.is_set(selector)) out.push_back(evaluate(field, selector, function));
  }
  return out;
}

}  // namespace vfrail::plugin

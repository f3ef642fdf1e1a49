#include "plugin/device/config/device_range.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

namespace vfrail::plugin {

namespace {

bool same_name(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

// Like Go's strconv.Atoi(), which accepts a sign and has 64 bits.
std::optional<int64_t> number(std::string_view text) {
  if (text.starts_with("+")) text.remove_prefix(1);
  if (text.starts_with("-")) return std::nullopt;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

struct Range {
  int64_t first = 0;
  int64_t last = 0;
};

std::optional<Range> parse_item(std::string_view item) {
  const size_t dash = item.find('-');
  const auto first = number(item.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : number(item.substr(dash + 1));
  if (!first || !last) return std::nullopt;
  return Range{*first, *last};
}

// Calls `see` for each item until it returns false.
template <class See>
void each_item(std::string_view items, See see) {
  for (size_t start = 0; start <= items.size();) {
    const size_t comma = std::min(items.find(',', start), items.size());
    if (!see(items.substr(start, comma - start))) return;
    start = comma + 1;
  }
}

}  // namespace

bool device_range_selects(std::string_view entry, std::string_view name, int64_t index) {
  const size_t hash = entry.find('#');
  if (name.empty() || !same_name(entry.substr(0, hash), name)) return false;
  if (hash == std::string_view::npos) return true;
  const std::string_view items = entry.substr(hash + 1);
  if (items.find('#') != std::string_view::npos) return false;
  bool selected = false;
  each_item(items, [&](std::string_view item) {
    const auto range = parse_item(item);
    if (range && index >= range->first && index <= range->last) selected = true;
    return range.has_value() && !selected;
  });
  return selected;
}

bool device_ranges_select(const std::vector<std::string>& entries, std::string_view name, int64_t index) {
  return std::any_of(entries.begin(), entries.end(),
                     [&](const std::string& entry) { return device_range_selects(entry, name, index); });
}

bool device_range_is_empty(std::string_view entry) {
  const size_t hash = entry.find('#');
  if (hash == std::string_view::npos) return false;
  const std::string_view items = entry.substr(hash + 1);
  bool empty = true;
  each_item(items, [&](std::string_view item) {
    const auto range = parse_item(item);
    if (range && range->first <= range->last) empty = false;
    return range.has_value() && empty;
  });
  return empty || items.find('#') != std::string_view::npos;
}

std::string device_range_fault(std::string_view entry) {
  const size_t hash = entry.find('#');
  if (hash == std::string_view::npos) return {};
  const std::string_view items = entry.substr(hash + 1);
  if (items.find('#') != std::string_view::npos) return "has more than one '#' and selects nothing";
  std::string fault;
  each_item(items, [&](std::string_view item) {
    const auto range = parse_item(item);
    if (!range) {
      fault = "the item \"" + std::string(item) +
              "\" and what follows it select nothing: write numbers and ranges like 0-3,7 without spaces";
    } else if (range->first > range->last) {
      fault = "the range " + std::string(item) + " is empty: the smaller number comes first";
    }
    return fault.empty();
  });
  return fault;
}

}  // namespace vfrail::plugin

#include "plugin/admin/console/table.h"

#include "common/escape.h"
#include "common/terminal.h"

#include <algorithm>
#include <numeric>
#include <string_view>

namespace vfrail::plugin {

namespace {

constexpr size_t kGap = 2;  // between columns
constexpr const char* kColourEnd = "\x1b[0m";

// The widest text of each column, 0 for one without any.
std::vector<size_t> natural_widths(const std::vector<Column>& columns,
                                   const std::vector<std::vector<Cell>>& rows, const TableStyle& style) {
  std::vector<size_t> out(columns.size(), 0);
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) out[i] = std::max(out[i], display_width(row[i].text));
  }
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i] == 0 && style.width > 0) continue;
    out[i] = std::max(out[i], style.headers ? display_width(columns[i].title) : size_t{1});
  }
  return out;
}

// The width of each column, 0 for those without a place: the most important ones first, at their minimum; the
// rest then goes to those that can use it.
std::vector<size_t> share_width(const std::vector<Column>& columns, const std::vector<size_t>& natural,
                                size_t width) {
  if (width == 0) return natural;
  std::vector<size_t> order(columns.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return columns[a].rank < columns[b].rank; });
  std::vector<size_t> out(columns.size(), 0);
  size_t left = width + kGap;
  for (const size_t i : order) {
    const size_t modest = columns[i].max_width == 0 ? natural[i] : std::min(natural[i], columns[i].max_width);
    const bool first = i == order.front();
    if (modest == 0) continue;
    // Not a narrower one in its place: the speed of a port says nothing without the state of its link.
    if (!first && modest + kGap > left) break;
    out[i] = std::min(modest, left - kGap);
    left -= out[i] + kGap;
  }
  for (const size_t i : order) {
    if (out[i] == 0) continue;
    const size_t more = std::min(left, natural[i] - out[i]);
    out[i] += more;
    left -= more;
  }
  return out;
}

// The first characters, with "..." for the rest.
std::string cut(const std::string& text, size_t width) {
  if (display_width(text) <= width) return text;
  size_t end = 0;
  for (size_t characters = 0; end < text.size(); ++end) {
    const bool begins = (static_cast<unsigned char>(text[end]) & 0xC0U) != 0x80U;
    if (begins && characters++ + 3 == width) break;
  }
  return text.substr(0, end) + "...";
}

// An empty cell is a "-", so that the words of a line can be counted.
std::string line(const std::vector<Cell>& row, const std::vector<size_t>& widths, bool colours) {
  std::string out;
  std::string gap;
  for (size_t i = 0; i < row.size(); ++i) {
    if (widths[i] == 0) continue;
    const std::string text = row[i].text.empty() ? "-" : cut(row[i].text, widths[i]);
    const bool coloured = colours && *row[i].colour != '\0';
    out += gap + (coloured ? row[i].colour + text + kColourEnd : text);
    gap = std::string(widths[i] - display_width(text) + kGap, ' ');
  }
  return out + "\n";
}

}  // namespace

std::string align(std::vector<Row> rows) {
  for (Row& row : rows) {
    for (std::string& cell : row) cell = escaped(cell);
  }
  std::vector<size_t> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (size_t i = 0; i < row.size(); ++i) {
      if (i + 1 < row.size()) widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::string out;
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      out += row[i];
      if (i + 1 < row.size()) out.append(widths[i] + 2 - row[i].size(), ' ');
    }
    out.erase(out.find_last_not_of(' ') + 1);  // of a row whose last cells are empty
    out += '\n';
  }
  return out;
}

std::string draw(const std::vector<Column>& columns, const std::vector<std::vector<Cell>>& rows,
                 const TableStyle& style, std::vector<std::string>& hidden) {
  auto shown = rows;
  for (auto& row : shown) {
    for (Cell& cell : row) cell.text = escaped(cell.text);
  }
  const auto natural = natural_widths(columns, shown, style);
  const auto widths = share_width(columns, natural, style.width);
  std::string out;
  if (style.headers) {
    std::vector<Cell> titles;
    for (const Column& column : columns) titles.push_back({column.title});
    out += line(titles, widths, false);
  }
  for (const auto& row : shown) out += line(row, widths, style.colours);
  for (size_t i = 0; i < columns.size(); ++i) {
    if (widths[i] == 0 && natural[i] > 0) hidden.push_back(columns[i].title);
  }
  return out;
}

}  // namespace vfrail::plugin

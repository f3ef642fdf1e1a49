// A table of text for people: rows of cells, in columns. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace vfrail::plugin {

using Row = std::vector<std::string>;

// A line for each row. Pads every cell but the last of a row to the width of its column.
std::string align(std::vector<Row> rows);

struct Cell {
  std::string text;
  const char* colour = "";  // the terminal's sequence that switches it on
};

struct Column {
  std::string title;
  int rank = 0;          // those with the lowest are shown first, where not all have their place
  size_t max_width = 0;  // as long as others need the place; 0: none
};

struct TableStyle {
  size_t width = 0;  // of the whole; 0: as the cells need it, with all columns
  bool headers = true;
  bool colours = false;
};

// Columns that are empty or have no place are not shown; the titles of the latter go to `hidden`. Every cell
// has a place in each of its rows.
std::string draw(const std::vector<Column>& columns, const std::vector<std::vector<Cell>>& rows,
                 const TableStyle& style, std::vector<std::string>& hidden);

}  // namespace vfrail::plugin

// A table of text for people: rows of cells, in columns. Pure.
#pragma once

#include <string>
#include <vector>

namespace vfrail {

using Row = std::vector<std::string>;

// One line a row. Pads every cell but the last of a row to the width of its column.
std::string align(std::vector<Row> rows);

}  // namespace vfrail

#include "plugin/report/table.h"

#include "common/escape.h"

#include <algorithm>

namespace vfrail {

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
    out += '\n';
  }
  return out;
}

}  // namespace vfrail

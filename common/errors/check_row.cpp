#include "common/errors/check_row.h"

#include "common/errors/error_id.h"

namespace vfrail {

const CheckRow* find_check_row(std::span<const CheckRow> rows, std::string_view text) {
  const std::string id = upper_id(text);
  for (const CheckRow& row : rows) {
    if (row.id == id || row.id.substr(3) == id) return &row;
  }
  return nullptr;
}

}  // namespace vfrail

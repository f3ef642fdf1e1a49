#include "common/escape.h"
#include "common/text.h"
#include "plugin/admin/console/table.h"
#include "plugin/admin/report/report.h"
#include "plugin/admin/top/top.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace vfrail::plugin {

namespace {

std::string number(const std::optional<double>& value) {
  if (!value) return "-";
  std::string out = with_prefix(*value);
  while (out.ends_with(' ')) out.pop_back();
  return out;
}

constexpr size_t kClaimColumn = 3;

const std::vector<Column>& traffic_columns() {
  static const std::vector<Column> kColumns = {
      {"DEVICE", 0, 0},  {"NAMES", 3, 24},    {"POD", 1, 32},     {"CLAIM", 3, 24},   {"RDMA RX", 0, 0},
      {"RDMA TX", 0, 0}, {"%", 4, 0},         {"PKT/S RX", 6, 0}, {"PKT/S TX", 6, 0}, {"NET RX", 5, 0},
      {"NET TX", 5, 0},  {"RETRANS/S", 2, 0}, {"OOS/S", 7, 0},    {"CNP/S", 7, 0},    {"DISCARDS/S", 7, 0}};
  return kColumns;
}

std::vector<std::string> cells(const DeviceRates& rates) {
  const auto percent = rates.percent();
  return {escaped(rates.device.id),
          escaped(rates.device.names),
          escaped(rates.device.pod),
          escaped(rates.device.claim),
          bit_rate_text(rates[Count::rdma_rx_bytes]),
          bit_rate_text(rates[Count::rdma_tx_bytes]),
          percent ? std::to_string(std::lround(*percent)) : "-",
          number(rates[Count::rdma_rx_packets]),
          number(rates[Count::rdma_tx_packets]),
          bit_rate_text(rates[Count::net_rx_bytes]),
          bit_rate_text(rates[Count::net_tx_bytes]),
          number(rates[Count::retransmissions]),
          number(rates[Count::out_of_sequence]),
          number(rates[Count::congestion]),
          number(rates[Count::discards])};
}

}  // namespace

std::string render_rates(const std::vector<DeviceRates>& rates, const Terminal& terminal) {
  if (rates.empty()) return "No device has been there for a whole interval.\n";
  // Where no pod has a device by a claim, nothing is said of claims.
  const bool claims = std::any_of(rates.begin(), rates.end(),
                                  [](const DeviceRates& one) { return !one.device.claim.empty(); });
  std::vector<Column> columns = traffic_columns();
  if (!claims) columns.erase(columns.begin() + kClaimColumn);
  std::vector<std::vector<Cell>> rows;
  for (const DeviceRates& one : rates) {
    std::vector<Cell>& row = rows.emplace_back();
    for (std::string& cell : cells(one)) row.push_back({std::move(cell)});
    if (!claims) row.erase(row.begin() + kClaimColumn);
  }
  std::vector<std::string> hidden;
  const std::string table = draw(columns, rows, {.width = terminal.width}, hidden);
  return table + (hidden.empty() ? "" : "hidden, the terminal is too narrow: " + joined(hidden) + "\n");
}

std::string render_summary(const Summary& summary) {
  std::vector<Row> rows = {{"DEVICE", "POD", "COUNTER", "TOTAL", "MOST/S", "AVERAGE/S", "LEAST/S"}};
  for (const auto& [id, line] : summary.lines()) {
    for (size_t i = 0; i < kCounts; ++i) {
      const auto& range = line.counts[i];
      if (!range || range->total <= 0) continue;
      rows.push_back({escaped(id), escaped(line.pod), name_of(static_cast<Count>(i)), number(range->total),
                      number(range->most), number(range->average()), number(range->least)});
    }
  }
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%.1f s", summary.seconds());
  if (rows.size() == 1) return std::string("In ") + seconds + " no device had traffic.\n";
  return std::string("In ") + seconds + ":\n" + align(std::move(rows));
}

}  // namespace vfrail::plugin

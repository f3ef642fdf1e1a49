#include "plugin/kube/fabric/fabric_report.h"

#include "common/text.h"
#include "plugin/kube/fabric/path.h"

#include <algorithm>
#include <map>

namespace vfrail::kube {

namespace {

std::string padded(const std::string& text, size_t width) {
  return text.size() >= width ? text + " " : std::string(width - text.size(), ' ') + text + " ";
}

struct Matrix {
  std::string title;
  size_t cell = 7;
  std::map<std::pair<size_t, size_t>, std::string> cells = {};  // by writer and the other end
};

std::string matrix_text(const FabricReport& report, const Matrix& matrix) {
  size_t width = 4;
  for (size_t i = 0; i < report.ends.size(); ++i) width = std::max(width, end_text(report, i).size() + 4);
  std::string out = matrix.title + "; from the row to the column\n" + std::string(width + 1, ' ');
  for (size_t to = 0; to < report.ends.size(); ++to) out += padded(std::to_string(to + 1), matrix.cell);
  out += "\n";
  for (size_t from = 0; from < report.ends.size(); ++from) {
    const std::string name = std::to_string(from + 1) + "  " + end_text(report, from);
    out += name + std::string(width + 1 - std::min(width + 1, name.size()), ' ');
    for (size_t to = 0; to < report.ends.size(); ++to) {
      const auto cell = matrix.cells.find({from, to});
      out += padded(from == to ? "." : cell == matrix.cells.end() ? "-" : cell->second, matrix.cell);
    }
    while (out.ends_with(' ')) out.pop_back();
    out += "\n";
  }
  return out;
}

// Of one rail: rates, and round trips if any were measured.
std::string matrices(const FabricReport& report, const std::vector<Path>& paths, size_t rail) {
  const std::string name = "rail " + std::to_string(rail + 1);
  Matrix rates{name + ", Gb/s"};
  Matrix round_trips{name + ", round trip in us: median/99th percentile"};
  double port = 0;
  for (const Path& path : paths) {
    if (path.rail != rail) continue;
    rates.cells[{path.from, path.to}] = path.gbits ? number_text(*path.gbits) : "failed";
    if (path.round_trip) {
      const std::string text = round_trip_text(*path.round_trip);
      round_trips.cells[{path.from, path.to}] = text;
      round_trips.cell = std::max(round_trips.cell, text.size());
    }
    port = std::max(port, path.port_gbits);
  }
  if (port > 0) rates.title += ", ports " + number_text(port);
  std::string out = matrix_text(report, rates);
  if (!round_trips.cells.empty()) out += "\n" + matrix_text(report, round_trips);
  return out;
}

constexpr size_t kMostListed = 10;

std::string path_text(const FabricReport& report, const Path& path) {
  return "  " + end_text(report, path.from) + " to " + end_text(report, path.to) + ", rail " +
         std::to_string(path.rail + 1) + ": ";
}

std::string slowest(const FabricReport& report, std::vector<Path> paths) {
  std::erase_if(paths, [](const Path& path) { return !path.gbits; });
  std::sort(paths.begin(), paths.end(), [](const Path& a, const Path& b) { return *a.gbits < *b.gbits; });
  if (paths.size() > kMostListed) paths.resize(kMostListed);
  std::string out = "the slowest paths (all of them with -o json):\n";
  for (const Path& path : paths)
    out += path_text(report, path) + rate_text(*path.gbits, path.port_gbits) + "\n";
  return out;
}

std::string latest(const FabricReport& report, std::vector<Path> paths) {
  std::erase_if(paths, [](const Path& path) { return !path.round_trip; });
  std::sort(paths.begin(), paths.end(),
            [](const Path& a, const Path& b) { return a.round_trip->typical_us > b.round_trip->typical_us; });
  if (paths.empty()) return "";
  if (paths.size() > kMostListed) paths.resize(kMostListed);
  std::string out = "the longest round trips (median/99th percentile):\n";
  for (const Path& path : paths) out += path_text(report, path) + round_trip_text(*path.round_trip) + " us\n";
  return out;
}

// How the numbers came about.
constexpr const char* kRateText = "RDMA writes, counted by their completions at the writer";
constexpr const char* kRoundTripText =
    "RDMA writes of 8 bytes one at a time, from posting to the completion at the writer, before the rate is "
    "measured and while the other pairs of the round write";

std::string how_text(const FabricReport& report, const std::vector<Path>& paths) {
  const auto any = [&](auto has) { return std::any_of(paths.begin(), paths.end(), has); };
  std::string round_trips = kRoundTripText;
  if (!any([](const Path& path) { return path.round_trip.has_value(); }))
    round_trips = any([](const Path& path) { return path.gbits.has_value(); })
                      ? "not measured: the image's vfrail-check is an older one"
                      : "not measured";
  return counted(report.pairs.size(), "pair") + ", each rail alone, " + std::to_string(report.seconds) +
         " s each way, by vfrail-check\nrates: " + kRateText + "\nround trips: " + round_trips + "\n";
}

}  // namespace

std::string render(const FabricReport& report, size_t most_ends) {
  const std::vector<Path> paths = paths_of(report);
  size_t rails = 0;
  for (const Path& path : paths) rails = std::max(rails, path.rail + 1);
  std::string out;
  if (report.ends.size() > most_ends) out += slowest(report, paths) + latest(report, paths) + "\n";
  for (size_t rail = 0; rail < rails && report.ends.size() <= most_ends; ++rail)
    out += matrices(report, paths, rail) + "\n";
  out += how_text(report, paths);
  size_t faults = 0;
  for (const FabricFinding& finding : report.findings) {
    faults += finding.is_fault ? 1 : 0;
    out += (finding.is_fault ? "FAULT  " : "note   ") + finding.text + "\n";
  }
  if (faults == 0 && !paths.empty()) out += "no slow card, cable or node\n";
  return out;
}

Json to_json(const FabricReport& report) {
  Json ends = Json::array();
  for (const FabricEnd& end : report.ends)
    ends.push(Json::object()
                  .set("node", end.node)
                  .set("pod", end.pod)
                  .set("failed", end.failed.empty() ? Json() : Json(end.failed)));
  Json paths = Json::array();
  for (const Path& path : paths_of(report))
    paths.push(Json::object()
                   .set("from", static_cast<int64_t>(path.from))
                   .set("to", static_cast<int64_t>(path.to))
                   .set("rail", static_cast<int64_t>(path.rail))
                   .set("device", path.name)
                   .set("gbits", path.gbits ? Json(*path.gbits) : Json())
                   .set("port_gbits", path.port_gbits)
                   .set("round_trip_us", path.round_trip ? Json(path.round_trip->typical_us) : Json())
                   .set("round_trip_p99_us",
                        path.round_trip && path.round_trip->p99_us ? Json(*path.round_trip->p99_us) : Json())
                   .set("failed", path.failed.empty() ? Json() : Json(path.failed)));
  Json findings = Json::array();
  for (const FabricFinding& finding : report.findings)
    findings.push(
        Json::object().set("severity", finding.is_fault ? "fault" : "note").set("text", finding.text));
  return Json::object()
      .set("schema_version", 1)
      .set("seconds", report.seconds)
      .set("how", Json::object().set("gbits", kRateText).set("round_trip_us", kRoundTripText))
      .set("ends", std::move(ends))
      .set("paths", std::move(paths))
      .set("findings", std::move(findings));
}

}  // namespace vfrail::kube

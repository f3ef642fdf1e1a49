#include "plugin/kube/fabric/fabric_report.h"

#include "common/text.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

namespace vfrail::kube {

namespace {

// From one end to another over one rail; the writer is `from`.
struct Path {
  size_t from = 0;
  size_t to = 0;
  size_t rail = 0;
  std::string name;  // of the rail at the writer
  double port_gbits = 0;
  std::optional<double> gbits = {};
  std::string failed = {};
};

std::vector<Path> paths_of(const FabricReport& report) {
  std::vector<Path> out;
  for (const PairMeasurement& pair : report.pairs) {
    for (size_t i = 0; i < pair.rails.size(); ++i) {
      const RailMeasurement& rail = pair.rails[i];
      out.push_back({pair.from, pair.to, i, rail.rail, rail.port_gbits, rail.sent, rail.failed});
      out.push_back({pair.to, pair.from, i, rail.peer_rail, rail.port_gbits, rail.received, rail.failed});
    }
  }
  return out;
}

// A rate that was measured is not shown as 0.0: RDMA in software has some hundredths.
std::string number(double value) {
  char text[32] = {};
  std::snprintf(text, sizeof text, value >= 10 ? "%.0f" : value >= 1 || value <= 0 ? "%.1f" : "%.2f", value);
  return text;
}

// "12 of 200 Gb/s".
std::string rate_text(double gbits, double port) {
  return number(gbits) + (port > 0 ? " of " + number(port) : "") + " Gb/s";
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

// Two ends on one node differ by their pods.
std::string end_text(const FabricReport& report, size_t end) {
  const std::string& node = report.ends[end].node;
  const auto same = std::count_if(report.ends.begin(), report.ends.end(),
                                  [&](const FabricEnd& one) { return one.node == node; });
  return same > 1 ? node + " (" + report.ends[end].pod + ")" : node;
}

class Evaluation {
 public:
  explicit Evaluation(const FabricReport& report) : report_(report), paths_(paths_of(report)) {
    for (const Path& path : paths_) {
      if (path.gbits) rates_[path.rail].push_back(*path.gbits);
      port_[path.rail] = std::max(port_[path.rail], path.port_gbits);
    }
  }

  std::vector<FabricFinding> run() {
    failed_ends();
    failed_pairs();
    slow_cards();
    slow_paths();
    slow_rails();
    return std::move(out_);
  }

 private:
  bool is_slow(const Path& path) const {
    if (!path.gbits) return false;
    const double usual = median(rates_.at(path.rail));
    const bool below_port = path.port_gbits <= 0 || *path.gbits < kExpectedPart * path.port_gbits;
    return below_port && *path.gbits < kSlowPart * usual;
  }
  void fault(std::string text) { out_.push_back({true, std::move(text)}); }

  void failed_ends() {
    for (const FabricEnd& end : report_.ends) {
      if (!end.failed.empty()) fault(end.node + ": no test: " + end.failed);
    }
  }
  void failed_pairs() {
    std::map<std::string, std::vector<std::string>> by_reason;
    for (const PairMeasurement& pair : report_.pairs) {
      const std::string name = end_text(report_, pair.from) + " - " + end_text(report_, pair.to);
      if (!pair.failed.empty()) by_reason[pair.failed].push_back(name);
      for (const RailMeasurement& rail : pair.rails) {
        if (!rail.failed.empty()) by_reason[rail.rail + ": " + rail.failed].push_back(name);
      }
    }
    for (const auto& [reason, pairs] : by_reason) fault(first_few(pairs) + ": " + reason);
  }
  // Of an end with one path each way nothing says which of both ends it is.
  void slow_cards() {
    std::map<std::pair<size_t, size_t>, std::vector<const Path*>> of_card;
    for (const Path& path : paths_) {
      of_card[{path.from, path.rail}].push_back(&path);
      of_card[{path.to, path.rail}].push_back(&path);
    }
    for (const auto& entry : of_card) {
      const auto& card = entry.first;
      const auto& paths = entry.second;
      std::vector<double> slow;
      for (const Path* path : paths) {
        if (is_slow(*path)) slow.push_back(*path->gbits);
      }
      if (paths.size() < 4 || slow.size() * 2 <= paths.size()) continue;
      slow_cards_.insert(card);
      const auto own =
          std::find_if(paths.begin(), paths.end(), [&](const Path* one) { return one->from == card.first; });
      fault(end_text(report_, card.first) + ", rail " + std::to_string(card.second + 1) + " (" +
            (*own)->name + "): " + rate_text(median(slow), port_[card.second]) + ", slow on " +
            std::to_string(slow.size()) + " of " + counted(paths.size(), "path") + " where others have " +
            number(median(rates_[card.second])) + ": this card, its cable or its port of the switch");
    }
  }
  void slow_paths() {
    for (const Path& path : paths_) {
      if (!is_slow(path) || slow_cards_.contains({path.from, path.rail}) ||
          slow_cards_.contains({path.to, path.rail}))
        continue;
      fault(end_text(report_, path.from) + " to " + end_text(report_, path.to) + ", rail " +
            std::to_string(path.rail + 1) + " (" + path.name +
            "): " + rate_text(*path.gbits, path.port_gbits) + " where others have " +
            number(median(rates_[path.rail])) + ": both ends are fast elsewhere, so what is between them");
    }
  }
  void slow_rails() {
    for (const auto& [rail, rates] : rates_) {
      std::vector<double> parts;  // of each path's own ports, which can differ
      for (const Path& path : paths_) {
        if (path.rail == rail && path.gbits && path.port_gbits > 0)
          parts.push_back(*path.gbits / path.port_gbits);
      }
      if (parts.empty() || median(parts) >= kExpectedPart) continue;
      const double usual = median(rates);
      out_.push_back({false, "rail " + std::to_string(rail + 1) + ": the median is " +
                                 rate_text(usual, port_[rail]) +
                                 ": not one card, so something that all have in common: MTU, PFC, PCIe width "
                                 "(vfrail doctor), the "
                                 "processor where RDMA is emulated"});
    }
  }

  const FabricReport& report_;
  const std::vector<Path> paths_;
  std::map<size_t, std::vector<double>> rates_;
  std::map<size_t, double> port_;
  std::set<std::pair<size_t, size_t>> slow_cards_;
  std::vector<FabricFinding> out_;
};

std::string padded(const std::string& text, size_t width) {
  return text.size() >= width ? text + " " : std::string(width - text.size(), ' ') + text + " ";
}

std::string matrix(const FabricReport& report, const std::vector<Path>& paths, size_t rail) {
  constexpr size_t kCell = 7;
  std::map<std::pair<size_t, size_t>, std::string> cells;
  double port = 0;
  for (const Path& path : paths) {
    if (path.rail != rail) continue;
    cells[{path.from, path.to}] = path.gbits ? number(*path.gbits) : "failed";
    port = std::max(port, path.port_gbits);
  }
  size_t width = 4;
  for (size_t i = 0; i < report.ends.size(); ++i) width = std::max(width, end_text(report, i).size() + 4);
  std::string out = "rail " + std::to_string(rail + 1) + ", Gb/s" +
                    (port > 0 ? ", ports " + number(port) : "") + "; from the row to the column\n" +
                    std::string(width + 1, ' ');
  for (size_t to = 0; to < report.ends.size(); ++to) out += padded(std::to_string(to + 1), kCell);
  out += "\n";
  for (size_t from = 0; from < report.ends.size(); ++from) {
    const std::string name = std::to_string(from + 1) + "  " + end_text(report, from);
    out += name + std::string(width + 1 - std::min(width + 1, name.size()), ' ');
    for (size_t to = 0; to < report.ends.size(); ++to) {
      const auto cell = cells.find({from, to});
      out += padded(from == to ? "." : cell == cells.end() ? "-" : cell->second, kCell);
    }
    while (out.ends_with(' ')) out.pop_back();
    out += "\n";
  }
  return out;
}

std::string slowest(const FabricReport& report, std::vector<Path> paths) {
  constexpr size_t kMost = 10;
  std::erase_if(paths, [](const Path& path) { return !path.gbits; });
  std::sort(paths.begin(), paths.end(), [](const Path& a, const Path& b) { return *a.gbits < *b.gbits; });
  if (paths.size() > kMost) paths.resize(kMost);
  std::string out = "the slowest paths (all of them with -o json):\n";
  for (const Path& path : paths)
    out += "  " + end_text(report, path.from) + " to " + end_text(report, path.to) + ", rail " +
           std::to_string(path.rail + 1) + ": " + rate_text(*path.gbits, path.port_gbits) + "\n";
  return out;
}

}  // namespace

std::vector<FabricFinding> evaluate(const FabricReport& report) { return Evaluation(report).run(); }

std::string render(const FabricReport& report, size_t most_ends) {
  const std::vector<Path> paths = paths_of(report);
  size_t rails = 0;
  for (const Path& path : paths) rails = std::max(rails, path.rail + 1);
  std::string out;
  if (report.ends.size() > most_ends) out += slowest(report, paths) + "\n";
  for (size_t rail = 0; rail < rails && report.ends.size() <= most_ends; ++rail)
    out += matrix(report, paths, rail) + "\n";
  out += counted(report.pairs.size(), "pair") + ", each rail alone, RDMA writes for " +
         std::to_string(report.seconds) + " s each way, counted by their completions (vfrail-check)\n";
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
                   .set("failed", path.failed.empty() ? Json() : Json(path.failed)));
  Json findings = Json::array();
  for (const FabricFinding& finding : report.findings)
    findings.push(
        Json::object().set("severity", finding.is_fault ? "fault" : "note").set("text", finding.text));
  return Json::object()
      .set("schema_version", 1)
      .set("seconds", report.seconds)
      .set("ends", std::move(ends))
      .set("paths", std::move(paths))
      .set("findings", std::move(findings));
}

}  // namespace vfrail::kube

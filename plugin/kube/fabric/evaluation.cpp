// What of a test of the fabric is a finding (fabric_report.h).
#include "common/text.h"
#include "plugin/kube/fabric/path.h"

#include <algorithm>
#include <map>
#include <set>

namespace vfrail::kube {

namespace {

// Of an end with one path each way nothing says which of both ends it is.
constexpr size_t kLeastPaths = 4;

class Evaluation {
 public:
  explicit Evaluation(const FabricReport& report) : report_(report), paths_(paths_of(report)) {
    std::map<size_t, std::vector<double>> rates, round_trips;
    for (const Path& path : paths_) {
      Rail& rail = rails_[path.rail];
      if (path.gbits) rates[path.rail].push_back(*path.gbits);
      if (path.round_trip) round_trips[path.rail].push_back(path.round_trip->typical_us);
      rail.port_gbits = std::max(rail.port_gbits, path.port_gbits);
    }
    for (auto& [number, rail] : rails_) {
      rail.gbits = median(std::move(rates[number]));
      rail.round_trip_us = median(std::move(round_trips[number]));
    }
  }

  std::vector<FabricFinding> run() {
    failed_ends();
    failed_pairs();
    slow_cards();
    slow_paths();
    slow_rails();
    late_cards();
    late_pairs();
    return std::move(out_);
  }

 private:
  // The end and the rail.
  using Card = std::pair<size_t, size_t>;
  using Paths = std::vector<const Path*>;
  // What is usual on it: medians, and the highest rate of a port.
  struct Rail {
    double gbits = 0;
    double round_trip_us = 0;
    double port_gbits = 0;
  };

  bool is_slow(const Path& path) const {
    if (!path.gbits) return false;
    const bool below_port = path.port_gbits <= 0 || *path.gbits < kExpectedPart * path.port_gbits;
    return below_port && *path.gbits < kSlowPart * rails_.at(path.rail).gbits;
  }
  bool is_late(const Path& path) const {
    if (!path.round_trip) return false;
    const double usual = rails_.at(path.rail).round_trip_us;
    return path.round_trip->typical_us > std::max(kLateFactor * usual, usual + kLateMicroseconds);
  }
  void fault(std::string text) { out_.push_back({true, std::move(text)}); }
  void note(std::string text) { out_.push_back({false, std::move(text)}); }

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

  struct Outlier {
    Card card;
    Paths bad;
    size_t paths = 0;  // of the card, bad or not
    std::string name;  // its device
  };
  // Cards of which most paths are so.
  template <class IsBad>
  std::vector<Outlier> cards_where(IsBad is_bad) const {
    std::map<Card, Paths> of_card;
    for (const Path& path : paths_) {
      of_card[{path.from, path.rail}].push_back(&path);
      of_card[{path.to, path.rail}].push_back(&path);
    }
    std::vector<Outlier> out;
    for (const auto& entry : of_card) {
      Outlier one{entry.first, {}, entry.second.size(), {}};
      for (const Path* path : entry.second) {
        if (is_bad(*path)) one.bad.push_back(path);
        if (path->from == one.card.first) one.name = path->name;
      }
      if (one.paths >= kLeastPaths && one.bad.size() * 2 > one.paths) out.push_back(std::move(one));
    }
    return out;
  }
  std::string card_text(const Outlier& card) const {
    return end_text(report_, card.card.first) + ", rail " + std::to_string(card.card.second + 1) + " (" +
           card.name + ")";
  }
  static std::string paths_text(const Outlier& card) {
    return std::to_string(card.bad.size()) + " of " + counted(card.paths, "path");
  }

  void slow_cards() {
    for (const Outlier& card : cards_where([this](const Path& path) { return is_slow(path); })) {
      slow_cards_.insert(card.card);
      std::vector<double> slow;
      for (const Path* path : card.bad) slow.push_back(*path->gbits);
      const Rail& rail = rails_.at(card.card.second);
      fault(card_text(card) + ": " + rate_text(median(slow), rail.port_gbits) + ", slow on " +
            paths_text(card) + " where others have " + number_text(rail.gbits) +
            ": this card, its cable or its port of the switch");
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
            number_text(rails_.at(path.rail).gbits) +
            ": both ends are fast elsewhere, so what is between them");
    }
  }
  void slow_rails() {
    for (const auto& [number, rail] : rails_) {
      std::vector<double> parts;  // of each path's own ports, which can differ
      for (const Path& path : paths_) {
        if (path.rail == number && path.gbits && path.port_gbits > 0)
          parts.push_back(*path.gbits / path.port_gbits);
      }
      if (parts.empty() || median(parts) >= kExpectedPart) continue;
      note("rail " + std::to_string(number + 1) + ": the median is " +
           rate_text(rail.gbits, rail.port_gbits) +
           ": not one card, so something that all have in common: MTU, PFC, PCIe width (vfrail doctor), the "
           "processor where RDMA is emulated");
    }
  }

  // A card that is slow is named once.
  void late_cards() {
    for (const Outlier& card : cards_where([this](const Path& path) { return is_late(path); })) {
      late_cards_.insert(card.card);
      if (slow_cards_.contains(card.card)) continue;
      std::vector<double> late;
      for (const Path* path : card.bad) late.push_back(path->round_trip->typical_us);
      note(card_text(card) + ": round trips of " + number_text(median(late)) + " us on " + paths_text(card) +
           " where others have " + number_text(rails_.at(card.card.second).round_trip_us) +
           ": this card, its cable, its port of the switch or its node's PCIe");
    }
  }
  // A round trip is both ways, so a pair is named once.
  void late_pairs() {
    const auto is_known = [this](const Card& card) {
      return slow_cards_.contains(card) || late_cards_.contains(card);
    };
    std::map<std::pair<Card, Card>, const Path*> latest;
    for (const Path& path : paths_) {
      const Card from{path.from, path.rail}, to{path.to, path.rail};
      if (!is_late(path) || is_known(from) || is_known(to)) continue;
      const Path*& known = latest[std::minmax(from, to)];
      if (known == nullptr || known->round_trip->typical_us < path.round_trip->typical_us) known = &path;
    }
    for (const auto& entry : latest) {
      const Path& path = *entry.second;
      note(end_text(report_, path.from) + " and " + end_text(report_, path.to) + ", rail " +
           std::to_string(path.rail + 1) + ": round trips of " + number_text(path.round_trip->typical_us) +
           " us where others have " + number_text(rails_.at(path.rail).round_trip_us) +
           ": what is between them, a longer way or a queue");
    }
  }

  const FabricReport& report_;
  const std::vector<Path> paths_;
  std::map<size_t, Rail> rails_;
  std::set<Card> slow_cards_;
  std::set<Card> late_cards_;
  std::vector<FabricFinding> out_;
};

}  // namespace

std::vector<FabricFinding> evaluate(const FabricReport& report) { return Evaluation(report).run(); }

}  // namespace vfrail::kube

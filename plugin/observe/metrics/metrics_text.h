// MetricsText: Prometheus' text exposition format, version 0.0.4, written line by line. Knows no metric.
//
// Not a library, because a library keeps each series as an object with its labels: several megabytes for the
// counters of a thousand VFs, which here are text once a scrape.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace vfrail::plugin {

class MetricsText {
 public:
  // An empty value equals no label (Prometheus' data model), and is left out.
  using Label = std::pair<std::string_view, std::string_view>;
  using Labels = std::initializer_list<Label>;

  // Begins a metric; its samples must follow directly, which the format requires.
  void gauge(std::string_view name, std::string_view help) { begin(name, "gauge", help); }
  void counter(std::string_view name, std::string_view help) { begin(name, "counter", help); }
  void histogram(std::string_view name, std::string_view help) { begin(name, "histogram", help); }

  // A line for people, which scrapers skip. Between two metrics.
  void comment(std::string_view text) { out_.append("# ").append(text).append("\n"); }

  void sample(Labels labels, uint64_t value) { sample("", labels, std::to_string(value)); }
  void sample(Labels labels, double value) { sample("", labels, number(value)); }
  // A sample of a histogram: "_bucket", "_sum", "_count".
  void part(std::string_view suffix, Labels labels, uint64_t value) {
    sample(suffix, labels, std::to_string(value));
  }
  void part(std::string_view suffix, Labels labels, double value) { sample(suffix, labels, number(value)); }

  // "0.0025", "1000000": as short as it can be written exactly.
  static std::string number(double value);

  std::string take() && { return std::move(out_); }

 private:
  void begin(std::string_view name, std::string_view type, std::string_view help);
  void sample(std::string_view suffix, Labels labels, const std::string& value);

  std::string name_;
  std::string out_;
};

}  // namespace vfrail::plugin

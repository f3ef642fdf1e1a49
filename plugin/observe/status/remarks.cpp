#include "plugin/observe/status/remarks.h"

namespace vfrail::plugin {

namespace {

// A remark that recurs is logged again, but not directly after the last time.
template <class Write>
void repeat(Remarks::Remark& remark, Remarks::Time time, Write write) {
  remark.holds = true;
  remark.again = remark.again || !remark.held;
  if (!remark.again || time - remark.written < Remarks::kPause) return;
  remark.again = false;
  remark.written = time;
  write();
}

std::vector<LogField> fields_of(const Warning& warning) {
  std::vector<LogField> out;
  if (!warning.resource.empty()) out.push_back({"resource", warning.resource});
  if (!warning.device.empty()) out.push_back({"device", warning.device});
  out.push_back({"id", id_text(warning.id)});
  return out;
}

}  // namespace

void Remarks::set(const std::string& topic, const std::vector<Warning>& now, Time time, LogLevel level,
                  Log& log) {
  const auto write = [&](const std::string& text, const std::vector<LogField>& fields) {
    log.write(level == LogLevel::info ? LogLevel::info : LogLevel::warning, text, fields);
  };
  Topic& known = topics_[topic];
  for (auto& [text, remark] : known.remarks) {
    remark.held = remark.holds;
    remark.holds = false;
  }
  size_t more = 0;
  for (const Warning& one : now) {
    const std::string line = one.line();
    const auto at = known.remarks.find(line);
    if (at != known.remarks.end()) {
      repeat(at->second, time, [&] { write(one.text, fields_of(one)); });
    } else if (known.remarks.size() < kMost) {
      known.remarks.emplace(line, Remark{time});
      write(one.text, fields_of(one));
    } else {
      ++more;
    }
  }
  // A remark that was just logged is remembered for a while beyond its end.
  std::erase_if(known.remarks,
                [&](const auto& one) { return !one.second.holds && time - one.second.written >= kPause; });
  if (more > 0 && !known.too_many)
    write("and " + std::to_string(more) + " more of this kind", {{"topic", topic}});
  known.too_many = more > 0;
}

}  // namespace vfrail::plugin

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

}  // namespace

void Remarks::set(const std::string& topic, const std::vector<std::string>& now, Time time, LogLevel level,
                  Log& log) {
  const auto write = [&](const std::string& text) {
    level == LogLevel::info ? log.info(text) : log.warning(text);
  };
  Topic& known = topics_[topic];
  for (auto& [text, remark] : known.remarks) {
    remark.held = remark.holds;
    remark.holds = false;
  }
  size_t more = 0;
  for (const std::string& text : now) {
    const auto at = known.remarks.find(text);
    if (at != known.remarks.end()) {
      repeat(at->second, time, [&] { write(text); });
    } else if (known.remarks.size() < kMost) {
      known.remarks.emplace(text, Remark{time});
      write(text);
    } else {
      ++more;
    }
  }
  // A remark that was just logged is remembered for a while beyond its end.
  std::erase_if(known.remarks,
                [&](const auto& one) { return !one.second.holds && time - one.second.written >= kPause; });
  if (more > 0 && !known.too_many)
    write("and " + std::to_string(more) + " more of this kind (" + topic + ")");
  known.too_many = more > 0;
}

}  // namespace vfrail::plugin

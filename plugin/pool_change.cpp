#include "plugin/pool_change.h"

#include <algorithm>

namespace vfrail {

namespace {
// A line of a log is read by people.
constexpr size_t kShown = 8;
}  // namespace

std::string PoolChange::text() const {
  std::string out;
  if (!added.empty()) out += "+" + std::to_string(added.size());
  if (!removed.empty()) out += (out.empty() ? "-" : " -") + std::to_string(removed.size());
  if (!out.empty()) out += " devices";
  const auto append = [&](size_t count, const char* what) {
    if (count > 0) out += (out.empty() ? "" : ", ") + std::to_string(count) + what;
  };
  append(failed.size(), " unhealthy");
  append(recovered.size(), " healthy again");
  return out.empty() ? "the same devices" : out;
}

// Both lists are sorted by id.
PoolChange compare(const Pool& before, const Pool& after) {
  PoolChange out;
  auto old = before.devices.begin();
  auto now = after.devices.begin();
  while (old != before.devices.end() || now != after.devices.end()) {
    const int order = old == before.devices.end()  ? 1
                      : now == after.devices.end() ? -1
                                                   : old->id().compare(now->id());
    if (order < 0) {
      out.removed.push_back((old++)->id());
    } else if (order > 0) {
      out.added.push_back((now++)->id());
    } else {
      if (old->fault.empty() != now->fault.empty())
        (old->fault.empty() ? out.failed : out.recovered).push_back(now->id());
      ++old;
      ++now;
    }
  }
  return out;
}

std::string first_few(const std::vector<std::string>& words) {
  std::string out;
  const size_t shown = words.size() <= kShown ? words.size() : kShown - 1;
  for (size_t i = 0; i < shown; ++i) out += (i == 0 ? "" : " ") + words[i];
  if (shown < words.size()) out += " and " + std::to_string(words.size() - shown) + " more";
  return out;
}

}  // namespace vfrail

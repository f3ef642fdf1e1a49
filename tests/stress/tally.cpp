#include "tests/stress/tally.h"

#include <iomanip>
#include <sstream>

namespace vfrail::test {

void Tally::begin(size_t worker, const std::string& kind, const std::string& what) {
  const std::lock_guard guard(mutex_);
  doing_[worker] = {kind, what, Clock::now()};
}

void Tally::end(size_t worker) {
  const std::lock_guard guard(mutex_);
  const auto at = doing_.find(worker);
  const Clock::duration took = Clock::now() - at->second.since;
  ++kinds_[at->second.kind];
  longest_ = std::max(longest_, took);
  auto& usual = usual_[at->second.kind];
  usual = (7 * usual + std::chrono::duration_cast<std::chrono::microseconds>(took)) / 8;
  doing_.erase(at);
}

std::string Tally::longer_than(std::chrono::seconds limit) const {
  const std::lock_guard guard(mutex_);
  for (const auto& [worker, doing] : doing_) {
    if (Clock::now() - doing.since > limit) return doing.what;
  }
  return "";
}

std::chrono::microseconds Tally::usual(const std::string& kind) const {
  const std::lock_guard guard(mutex_);
  const auto at = usual_.find(kind);
  return at == usual_.end() ? std::chrono::microseconds(0) : at->second;
}

void Tally::count(const std::string& what) {
  const std::lock_guard guard(mutex_);
  ++counts_[what];
}

void Tally::complain(const std::string& what) {
  const std::lock_guard guard(mutex_);
  complaints_.push_back(what);
}

bool Tally::all_well() const {
  const std::lock_guard guard(mutex_);
  return complaints_.empty();
}

std::vector<std::string> Tally::complaints() const {
  const std::lock_guard guard(mutex_);
  return complaints_;
}

std::string Tally::text() const {
  const std::lock_guard guard(mutex_);
  std::ostringstream out;
  const char* comma = "";
  for (const auto* counts : {&kinds_, &counts_}) {
    for (const auto& [what, count] : *counts) {
      out << comma << what << ' ' << count;
      comma = ", ";
    }
    comma = "; ";
  }
  out << "; the longest took " << std::fixed << std::setprecision(1)
      << std::chrono::duration<double>(longest_).count() << " s";
  return out.str();
}

}  // namespace vfrail::test

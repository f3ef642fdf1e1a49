#include "plugin/kube/node/notice_ledger.h"

#include "common/json.h"

#include <algorithm>
#include <set>

namespace vfrail::kube {

namespace {

constexpr size_t kMaxBody = 256 << 10;
constexpr size_t kMaxNotices = 64;
constexpr size_t kMaxReason = 64;  // of 128 that the API takes
constexpr size_t kMaxAbout = 316;  // a resource's name: prefix, slash and name
constexpr size_t kMaxText = 4096;  // of which an Event has 1,024
// Longer gone than an API server keeps an Event.
constexpr std::chrono::hours kForget{1};

bool is_reason(std::string_view text) {
  return !text.empty() && text.size() <= kMaxReason && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  });
}

}  // namespace

Result<std::vector<NodeNotice>> read_notices(std::string_view json) {
  const Json value = TRY(Json::parse_object(json, kMaxBody), "notices");
  ObjectReader reader(*value.as_object(), "");
  const Json::Array* list = TRY(reader.array("notices"));
  if (list == nullptr) return reader.error("notices", "is missing");
  if (list->size() > kMaxNotices)
    return reader.error("notices", "has more than " + std::to_string(kMaxNotices));
  std::vector<NodeNotice> out;
  for (const Json& one : *list) {
    if (one.as_object() == nullptr) return reader.error("notices", "must have objects");
    ObjectReader inner(*one.as_object(), "notices");
    NodeNotice& notice = out.emplace_back();
    notice.reason = TRY(inner.text("reason")).value_or("");
    notice.about = TRY(inner.text("about")).value_or("");
    notice.text = TRY(inner.text("text")).value_or("");
    if (!is_reason(notice.reason)) return inner.error("reason", "must be one word of letters");
    if (notice.about.size() > kMaxAbout) return inner.error("about", "is too long");
    if (notice.text.empty() || notice.text.size() > kMaxText)
      return inner.error("text", "must have 1 to " + std::to_string(kMaxText) + " bytes");
  }
  return out;
}

void NoticeLedger::take(const std::vector<NodeNotice>& notices, Time now) {
  std::set<std::pair<std::string, std::string>> there;
  for (const NodeNotice& notice : notices) {
    const std::pair key(notice.reason, notice.about);
    if (!there.insert(key).second) continue;
    Entry& entry = entries_[key];
    const bool other_text = entry.notice != notice;
    if (!entry.is_there || other_text) {
      entry.is_due = true;
      ++entry.count;
    }
    if (other_text) {  // an Event's text cannot be changed
      entry.event.clear();
      entry.count = 1;
    }
    entry.notice = notice;
    entry.is_there = true;
  }
  for (auto& [key, entry] : entries_) {
    if (!there.contains(key)) entry.is_there = entry.is_due = false;
  }
  std::erase_if(entries_, [now](const auto& one) {
    return !one.second.is_there && now - one.second.written >= kForget;
  });
}

NoticeLedger::Time NoticeLedger::may_be_written(const Entry& entry) const {
  if (!entry.is_there) return Time::max();
  if (entry.written == Time{}) return Time{};
  return entry.written + (entry.is_due ? kRepeat : kRemind);
}

void NoticeLedger::refill(Time now) {
  if (refilled_ == Time{}) refilled_ = now;
  while (room_ < kBurst && now - refilled_ >= kRefill) {
    ++room_;
    refilled_ += kRefill;
  }
  if (room_ == kBurst) refilled_ = now;
}

NoticeLedger::Entry* NoticeLedger::next(Time now) {
  refill(now);
  if (room_ == 0) return nullptr;
  for (auto& [key, entry] : entries_) {
    if (now < may_be_written(entry)) continue;
    if (!entry.is_due) ++entry.count;  // it is still there
    entry.is_due = true;
    return &entry;
  }
  return nullptr;
}

NoticeLedger::Time NoticeLedger::due(Time now) const {
  Time out = Time::max();
  for (const auto& [key, entry] : entries_) out = std::min(out, may_be_written(entry));
  if (out == Time::max()) return out;
  return room_ > 0 ? std::max(out, now) : std::max(out, refilled_ + kRefill);
}

void NoticeLedger::written(Entry& entry, std::optional<std::string> event, Time now) {
  entry.written = now;
  entry.is_due = !event.has_value();
  if (event) entry.event = *std::move(event);
  if (room_ > 0) --room_;
}

}  // namespace vfrail::kube

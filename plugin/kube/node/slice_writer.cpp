#include "plugin/kube/node/slice_writer.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace vfrail::kube {

namespace {

// After a restore of etcd versions begin again at a lower number, and a slice would be known for ever.
constexpr std::chrono::seconds kLongestUnseen{60};

// Versions are whole numbers that grow (KEP-5504); 0 for anything else, which then never counts as newer.
uint64_t number_of(const std::string& version) {
  uint64_t out = 0;
  const auto [end, failed] = std::from_chars(version.data(), version.data() + version.size(), out);
  return failed == std::errc() && end == version.data() + version.size() ? out : 0;
}

}  // namespace

ObjectWatch::Objects SliceWriter::known(const ObjectWatch::View& view, Steady::time_point now) {
  const uint64_t seen = number_of(view.version);
  std::erase_if(written_, [&](const auto& one) {
    return seen >= one.second.version || now - one.second.at > kLongestUnseen;
  });
  ObjectWatch::Objects out = view.objects;
  for (const auto& [name, written] : written_) out[name] = written.slice;
  std::set<std::string> still_there;
  std::erase_if(out, [&](const auto& one) {
    const std::string uid = uid_of(*one.second);
    if (!removed_.contains(uid)) return false;
    still_there.insert(uid);
    return true;
  });
  removed_ = std::move(still_there);
  return out;
}

SliceWriter::Steady::time_point SliceWriter::due(const std::vector<SliceChange>& changes) const {
  const auto replaced =
      static_cast<size_t>(std::count_if(changes.begin(), changes.end(), [](const SliceChange& change) {
        return change.kind == SliceChange::Kind::replace;
      }));
  Steady::time_point out{};
  for (const SliceChange& change : changes) {
    if (change.kind == SliceChange::Kind::create) out = std::max(out, pace_.create_due(change.index));
    if (change.kind == SliceChange::Kind::replace)
      out = std::max(out, pace_.replace_due(change.index, replaced));
  }
  return out;
}

Result<> SliceWriter::write(const std::vector<SliceChange>& changes) {
  for (const SliceChange& change : changes) {
    TRY(write(change));
    ++count_;
  }
  return {};
}

Result<> SliceWriter::write(const SliceChange& change) {
  if (change.kind == SliceChange::Kind::remove) {
    TRY(client_.remove(kResourceSlices, change.slice, change.uid));
    removed_.insert(change.uid);
    written_.erase(change.slice);
    return {};
  }
  if (change.kind == SliceChange::Kind::create)
    pace_.created(change.index, Steady::now());
  else
    pace_.replaced(change.index, Steady::now());
  Json stored = TRY(change.kind == SliceChange::Kind::create
                        ? client_.create(kResourceSlices, "", change.object)
                        : client_.replace(kResourceSlices, change.slice, change.object));
  remember(memory_, change.index, change.object, stored);
  const uint64_t version = number_of(version_of(stored));
  const ObjectName name = name_of(stored);
  written_[name] = {std::make_shared<const Json>(std::move(stored)), version, Steady::now()};
  return {};
}

}  // namespace vfrail::kube

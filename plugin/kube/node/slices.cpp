#include "plugin/kube/node/slices.h"

#include "plugin/kube/access/fields.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace vfrail::kube {

namespace {

// As many as 16,384 devices need, which is what DeviceOffer may have: a count in a foreign slice does
// not make more of them.
constexpr size_t kMaxSlices = 256;
constexpr size_t kIndexDigits = 5;
// The API server cuts a generateName after 58 characters (apiserver, storage/names), and refuses one that
// ends in a dot.
constexpr size_t kMaxGenerateName = 58;

std::string generate_name(const PoolName& pool, size_t index) {
  char digits[24] = {};  // of any size_t
  std::snprintf(digits, sizeof digits, "%05zx", index);
  std::string out = std::string(digits) + "-" + pool.driver + "-" + pool.node;
  out.resize(std::min(out.size(), kMaxGenerateName - 1));
  while (out.back() == '.' || out.back() == '-') out.pop_back();
  return out + "-";
}

// Of "0000a-vfrail.io-node-1-x7k2p": 10. No value: not a name of ours.
std::optional<size_t> index_of(const std::string& name) {
  size_t out = 0;
  const auto [end, failed] = std::from_chars(name.data(), name.data() + name.size(), out, 16);
  const auto digits = static_cast<size_t>(end - name.data());
  if (failed != std::errc() || digits != kIndexDigits || name[digits] != '-' || out >= kMaxSlices)
    return std::nullopt;
  return out;
}

int64_t number_at(const Json& slice, std::string_view key) {
  const Json* value = value_at(slice, {"spec", "pool", key});
  const int64_t* number = value == nullptr ? nullptr : value->as_int();
  return number == nullptr ? 0 : *number;
}
int64_t generation_of(const Json& slice) { return number_at(slice, "generation"); }

// The API server sorts keys, and leaves an empty list out.
std::string text_of(const Json::Array& devices) { return Json(devices).text(Json::Order::sorted); }
std::string stored_devices(const Json& slice) { return text_of(list_at(slice, {"spec", "devices"})); }

Json owner(const PoolName& pool) {
  Json out = Json::object();
  out.set("apiVersion", "v1");
  out.set("kind", "Node");
  out.set("name", pool.node);
  out.set("uid", pool.node_uid);
  out.set("controller", true);
  return out;
}

bool has_owner(const Json& slice, const PoolName& pool) {
  const Json::Array& owners = list_at(slice, {"metadata", "ownerReferences"});
  return owners.size() == 1 && text_at(owners.front(), {"uid"}) == pool.node_uid &&
         is_true_at(owners.front(), {"controller"});
}

// The API server gives a taint the time at which it was first there, and a new time if it is sent without.
Json with_times(Json device, const Json* stored) {
  Json::Array taints = list_at(device, {"taints"});
  if (stored == nullptr || taints.empty()) return device;
  for (Json& taint : taints) {
    for (const Json& before : list_at(*stored, {"taints"})) {
      const bool is_same = text_at(taint, {"key"}) == text_at(before, {"key"}) &&
                           text_at(taint, {"value"}) == text_at(before, {"value"}) &&
                           text_at(taint, {"effect"}) == text_at(before, {"effect"});
      const Json* added = value_at(before, {"timeAdded"});
      if (is_same && added != nullptr) taint.set("timeAdded", *added);
    }
  }
  device.set("taints", std::move(taints));
  return device;
}

struct Slot {
  Json::Array wanted;
  std::string text;  // of `wanted`
  const Json* there = nullptr;
};

class Pool {
 public:
  Pool(const PoolName& name, const ObjectWatch::Objects& existing, const SliceMemory& memory)
      : name_(name), existing_(existing), memory_(memory), newest_(memory.generation) {
    for (const auto& [object, slice] : existing_) place(*slice);
  }

  std::vector<SliceChange> changes(const Json::Array& devices) {
    fill(devices);
    const int64_t generation = generation_to_write();
    std::vector<SliceChange> out;
    for (size_t index = 0; index < slots_.size(); ++index) {
      if (generation != newest_ || !is_right(index, generation)) out.push_back(write(index, generation));
    }
    for (const Json* extra : extra_)
      out.push_back({SliceChange::Kind::remove, 0, name_of(*extra), uid_of(*extra), {}});
    return out;
  }

 private:
  // Of two of one index the newer stays, or else the first by name.
  void place(const Json& slice) {
    const auto index = index_of(name_of(slice).name);
    const bool is_in_pool = text_at(slice, {"spec", "pool", "name"}) == name_.node;
    if (is_in_pool) newest_ = std::max(newest_, generation_of(slice));
    if (!index || !is_in_pool) return extra_.push_back(&slice);
    const Json*& there = there_[*index];
    if (there != nullptr && generation_of(slice) <= generation_of(*there)) return extra_.push_back(&slice);
    if (there != nullptr) extra_.push_back(there);
    there = &slice;
  }

  // A pool never has fewer slices than it had: with their number all of them would have to be written.
  size_t count(size_t devices) const {
    size_t out = std::max({(devices + kDevicesOfSlice - 1) / kDevicesOfSlice, memory_.count, size_t{1}});
    for (const auto& [index, slice] : there_) {
      out = std::max(out, index + 1);
      if (generation_of(*slice) == newest_)
        out =
            std::max(out, static_cast<size_t>(std::max<int64_t>(number_at(*slice, "resourceSliceCount"), 0)));
    }
    return std::min(out, kMaxSlices);
  }

  void fill(const Json::Array& devices) {
    std::map<std::string, const Json*> stored;
    for (const auto& [object, slice] : existing_) {
      for (const Json& device : list_at(*slice, {"spec", "devices"}))
        stored[text_at(device, {"name"})] = &device;
    }
    slots_.resize(count(devices.size()));
    for (size_t i = 0; i < devices.size() && i < slots_.size() * kDevicesOfSlice; ++i) {
      const auto before = stored.find(text_at(devices[i], {"name"}));
      slots_[i / kDevicesOfSlice].wanted.push_back(
          with_times(devices[i], before == stored.end() ? nullptr : before->second));
    }
    for (size_t index = 0; index < slots_.size(); ++index) {
      slots_[index].text = text_of(slots_[index].wanted);
      const auto there = there_.find(index);
      if (there != there_.end()) slots_[index].there = there->second;
    }
  }

  bool has_devices(size_t index) const {
    const Slot& slot = slots_[index];
    const std::string stored = stored_devices(*slot.there);
    if (stored == slot.text) return true;
    const auto kept = memory_.kept.find(index);
    return kept != memory_.kept.end() && kept->second.sent == slot.text && kept->second.stored == stored;
  }

  // But for its devices.
  bool has_frame(size_t index, int64_t generation) const {
    const Json* there = slots_[index].there;
    return there != nullptr && generation_of(*there) == generation &&
           number_at(*there, "resourceSliceCount") == static_cast<int64_t>(slots_.size()) &&
           has_owner(*there, name_);
  }

  bool is_right(size_t index, int64_t generation) const {
    return has_frame(index, generation) && has_devices(index);
  }

  // One slice is replaced in its generation. Slices that are missing in it are added, if the others have
  // their devices: a pool of which a part was written, or deleted, becomes whole. Everything else is a new
  // generation, so that nobody ever sees half of a change.
  int64_t generation_to_write() const {
    size_t in_frame = 0;
    size_t changed = 0;
    for (size_t index = 0; index < slots_.size(); ++index) {
      if (!has_frame(index, newest_)) continue;
      ++in_frame;
      if (!has_devices(index)) ++changed;
    }
    const bool is_one = changed <= 1 && in_frame == slots_.size();
    const bool is_rest = changed == 0 && in_frame > 0;
    return is_one || is_rest ? newest_ : newest_ + 1;
  }

  SliceChange write(size_t index, int64_t generation) const {
    const Slot& slot = slots_[index];
    Json pool = Json::object();
    pool.set("name", name_.node);
    pool.set("generation", generation);
    pool.set("resourceSliceCount", static_cast<int64_t>(slots_.size()));
    Json spec = Json::object();
    spec.set("driver", name_.driver);
    spec.set("nodeName", name_.node);
    spec.set("pool", std::move(pool));
    spec.set("devices", slot.wanted);
    Json metadata = Json::object();
    if (slot.there != nullptr)
      metadata = *slot.there->find("metadata");
    else
      metadata.set("generateName", generate_name(name_, index));
    metadata.set("ownerReferences", Json::array().push(owner(name_)));
    Json object = Json::object();
    object.set("apiVersion", kResourceSlices.api_version());
    object.set("kind", kResourceSlices.kind);
    object.set("metadata", std::move(metadata));
    object.set("spec", std::move(spec));
    if (slot.there == nullptr) return {SliceChange::Kind::create, index, {}, {}, std::move(object)};
    return {SliceChange::Kind::replace, index, name_of(*slot.there), {}, std::move(object)};
  }

  const PoolName& name_;
  const ObjectWatch::Objects& existing_;
  const SliceMemory& memory_;
  int64_t newest_;
  std::map<size_t, const Json*> there_;
  std::vector<const Json*> extra_;
  std::vector<Slot> slots_;
};

}  // namespace

ObjectWatch::Objects own_slices(const ObjectWatch::Objects& slices, const PoolName& pool) {
  ObjectWatch::Objects out;
  for (const auto& [name, slice] : slices) {
    if (text_at(*slice, {"spec", "driver"}) == pool.driver &&
        text_at(*slice, {"spec", "nodeName"}) == pool.node)
      out[name] = slice;
  }
  return out;
}

std::vector<SliceChange> decide_slices(const PoolName& pool, const Json::Array& devices,
                                       const ObjectWatch::Objects& existing, const SliceMemory& memory) {
  return Pool(pool, existing, memory).changes(devices);
}

void remember(SliceMemory& memory, size_t index, const Json& sent, const Json& stored) {
  memory.generation = std::max(memory.generation, generation_of(stored));
  memory.count = std::max(memory.count,
                          static_cast<size_t>(std::max<int64_t>(number_at(stored, "resourceSliceCount"), 0)));
  SliceMemory::Kept kept{stored_devices(sent), stored_devices(stored)};
  if (kept.sent == kept.stored)
    memory.kept.erase(index);
  else
    memory.kept[index] = std::move(kept);
}

}  // namespace vfrail::kube

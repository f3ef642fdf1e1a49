#include "plugin/kube/client/lease.h"

#include "plugin/kube/access/api_time.h"
#include "plugin/kube/access/fields.h"

#include <utility>

namespace vfrail::kube {

namespace {

// What is left of the object: fields of others must survive a replacement.
Json spec_of(const Json& lease) {
  const Json* spec = lease.find("spec");
  return spec != nullptr && spec->as_object() != nullptr ? *spec : Json::object();
}

std::string holder_of(const Json& lease) { return text_at(lease, {"spec", "holderIdentity"}); }

int64_t transitions_of(const Json& lease) {
  const Json* count = value_at(lease, {"spec", "leaseTransitions"});
  const int64_t* number = count == nullptr ? nullptr : count->as_int();
  return number == nullptr ? 0 : *number;
}

Json make_lease(const ObjectName& name) {
  Json metadata = Json::object();
  metadata.set("name", name.name);
  metadata.set("namespace", name.name_space);
  Json out = Json::object();
  out.set("apiVersion", kLeases.api_version());
  out.set("kind", std::string(kLeases.kind));
  out.set("metadata", std::move(metadata));
  return out;
}

// With `holder` as the one who has it from now on; empty: nobody.
Json held_by(Json lease, const std::string& holder) {
  const std::string now = api_micro_time(std::chrono::system_clock::now());
  const bool changes = holder_of(lease) != holder;
  Json spec = spec_of(lease);
  spec.set("holderIdentity", holder);
  // The API server wants a duration; of a lease that is given up it is the shortest, as client-go writes.
  spec.set("leaseDurationSeconds", holder.empty() ? 1 : static_cast<int>(Lease::kDuration.count()));
  spec.set("renewTime", now);
  if (changes) {
    spec.set("acquireTime", now);
    if (!holder.empty()) spec.set("leaseTransitions", transitions_of(lease) + 1);
  }
  lease.set("spec", std::move(spec));
  return lease;
}

}  // namespace

bool Lease::held(Steady::time_point now) const { return renewed_ && now - *renewed_ < kGiveUp; }

Result<bool> Lease::turn(ApiClient& client, Steady::time_point now) {
  if (renewed_ && now - *renewed_ < kRenewal) return true;
  const auto there = TRY(client.get(kLeases, object_));
  if (!there)
    return take(client.create(kLeases, object_.name_space, held_by(make_lease(object_), holder_)), now);
  const std::string version = version_of(*there);
  if (version != seen_version_) {
    seen_version_ = version;
    seen_at_ = now;
  }
  const std::string holder = holder_of(*there);
  const bool free = holder.empty() || holder == holder_ || now - seen_at_ >= kDuration;
  if (free) return take(client.replace(kLeases, object_, held_by(*there, holder_)), now);
  renewed_.reset();
  return false;
}

// A conflict: another was faster, which the next turn shows.
Result<bool> Lease::take(Result<Json> written, Steady::time_point now) {
  if (written) {
    renewed_ = now;
    seen_version_ = version_of(*written);
    seen_at_ = now;
    return true;
  }
  if (written.error().code != Errc::busy && written.error().code != Errc::exists) return written.error();
  if (written.error().sys != 409) return written.error();
  renewed_.reset();
  return false;
}

Result<> Lease::release(ApiClient& client) {
  if (!std::exchange(renewed_, std::nullopt)) return {};
  const auto there = TRY(client.get(kLeases, object_));
  if (!there || holder_of(*there) != holder_) return {};
  TRY(client.replace(kLeases, object_, held_by(*there, "")));
  return {};
}

}  // namespace vfrail::kube

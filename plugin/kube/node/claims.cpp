#include "plugin/kube/node/claims.h"

#include "common/text.h"
#include "plugin/kube/access/fields.h"

#include <algorithm>
#include <utility>

namespace vfrail::kube {

namespace {

// 200 pods of a job are prepared at once, and kubelet calls for each: connections are few, and kept.
constexpr size_t kClients = 4;
// serve waits 10 s for an answer. Of these for a connection that others have, and for the connection, the
// answer and its body each.
constexpr std::chrono::seconds kWaitForClient{4};
constexpr std::chrono::seconds kClaimPatience{2};
// A field manager is printable, and no longer (apimachinery, meta/v1/validation).
constexpr size_t kMaxManager = 128;

ObjectName object_of(const ClaimName& claim) { return {claim.name_space, claim.name}; }

FoundClaim not_there(const ClaimName& claim, const std::string& why) {
  return {{}, "ResourceClaim " + claim.text() + why};
}

// Of an unknown kind the API server says 404 too; its claims are not gone.
Result<> check_served(ApiClient& client) {
  const auto page = client.page("/apis/" + kResourceClaims.api_version());
  if (page) return {};
  if (page.error().sys != 404) return page.error();
  return Error{Errc::unsupported, 0,
               "this API server serves no resource.k8s.io/v1: Kubernetes 1.34 or later is needed"};
}

Result<FoundClaim> find_claim(ApiClient& client, const ClaimName& claim) {
  auto found = TRY(client.get(kResourceClaims, object_of(claim)));
  if (!found) {
    TRY(check_served(client));
    return not_there(claim, " is not there");
  }
  if (const std::string uid = uid_of(*found); uid != claim.uid)
    return not_there(claim, " has the uid " + uid + " and not " + claim.uid +
                                ": it was deleted, and another claim was created under the same name");
  return FoundClaim{*std::move(found)};
}

}  // namespace

// A client that goes back to the others.
class Claims::Lent {
 public:
  Lent(Claims& owner, std::unique_ptr<ApiClient> client) : owner_(owner), client_(std::move(client)) {}
  Lent(Lent&&) noexcept = default;
  Lent& operator=(Lent&&) = delete;
  ~Lent() {
    if (!client_) return;
    const std::lock_guard lock(owner_.mutex_);
    owner_.idle_.push_back(std::move(client_));
    owner_.returned_.notify_one();
  }
  ApiClient& operator*() { return *client_; }
  ApiClient* operator->() { return client_.get(); }

 private:
  Claims& owner_;
  std::unique_ptr<ApiClient> client_;
};

std::string field_manager(const std::string& driver, const std::string& node) {
  return (driver + "-" + node).substr(0, kMaxManager);
}

Result<> check_entries(const Json& devices, const std::string& driver) {
  if (devices.as_array() == nullptr) return Error{Errc::invalid, 0, "devices: must be a list"};
  for (const Json& device : *devices.as_array()) {
    if (const std::string other = text_at(device, {"driver"}); other != driver)
      return Error{
          Errc::invalid, 0,
          "devices: the driver of each must be " + driver + ", and one has \"" + well_formed(other) + "\""};
  }
  return {};
}

Json status_fields(const ClaimName& claim, const Json& devices) {
  Json metadata = Json::object();
  metadata.set("name", claim.name);
  metadata.set("namespace", claim.name_space);
  metadata.set("uid", claim.uid);  // refused if another one has the name by now
  Json out = Json::object();
  out.set("apiVersion", kResourceClaims.api_version());
  out.set("kind", kResourceClaims.kind);
  out.set("metadata", std::move(metadata));
  out.set("status", Json::object().set("devices", devices));
  return out;
}

Claims::Claims(const ClusterAccess& access, const std::string& driver, const std::string& node)
    : manager_(field_manager(driver, node)) {
  while (idle_.size() < kClients) {
    idle_.push_back(std::make_unique<ApiClient>(access, stop_.get_token()));
    idle_.back()->set_patience(kClaimPatience);
  }
}

Claims::~Claims() {
  stop();
  std::unique_lock lock(mutex_);
  returned_.wait(lock, [this] { return idle_.size() == kClients; });
}

Result<Claims::Lent> Claims::client() {
  std::unique_lock lock(mutex_);
  if (!returned_.wait_for(lock, kWaitForClient, [this] { return !idle_.empty(); }))
    return Error{Errc::busy, 0,
                 "all " + std::to_string(kClients) + " connections to the API server wait for its answers"};
  Lent out(*this, std::move(idle_.back()));
  idle_.pop_back();
  return out;
}

Result<FoundClaim> Claims::get(const ClaimName& claim) {
  Lent lent = TRY(client());
  FoundClaim out = TRY(find_claim(*lent, claim));
  if (!out.absent.empty()) return out;
  for (auto& [key, value] : *out.claim.as_object()) {
    if (key == "metadata")
      std::erase_if(*value.as_object(), [](const auto& field) { return field.first == "managedFields"; });
  }
  return out;
}

Result<std::string> Claims::set_status(const ClaimName& claim, const Json& devices) {
  Lent lent = TRY(client());
  if (FoundClaim found = TRY(find_claim(*lent, claim)); !found.absent.empty()) return std::move(found.absent);
  const auto applied = lent->apply(kResourceClaims, object_of(claim), status_fields(claim, devices),
                                   {.manager = manager_, .subresource = "status"});
  if (applied) return std::string();
  // Between the two requests it was deleted, or made again: `force` leaves no other conflict.
  if (applied.error().sys == 404 || applied.error().sys == 409)
    return not_there(claim, " is gone: " + applied.error().text).absent;
  return applied.error();
}

}  // namespace vfrail::kube

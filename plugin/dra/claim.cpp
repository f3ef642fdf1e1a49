#include "plugin/dra/claim.h"

#include "common/text.h"

#include <algorithm>
#include <set>
#include <utility>

namespace vfrail::plugin {

namespace {

// The API server allows no more (AllocationResultsMaxSize, ResourceClaimReservedForMaxSize).
constexpr size_t kMaxResults = 32;
constexpr size_t kMaxConsumers = 256;

constexpr const char* kAllocation = "status.allocation";
constexpr const char* kOneOwner =
    "a VF has one owner: give each pod a claim of its own by a ResourceClaimTemplate";

// Of a list of objects; null if there is none.
Result<const Json::Array*> read_list(ObjectReader& reader, std::string_view key, size_t limit) {
  const Json::Array* list = TRY(reader.array(key));
  if (list == nullptr) return list;
  if (list->size() > limit)
    return reader.error(key, "has " + std::to_string(list->size()) + " entries, at most " +
                                 std::to_string(limit) + " are expected");
  for (const Json& entry : *list) {
    if (entry.as_object() == nullptr) return reader.error(key, "must be a list of objects");
  }
  return list;
}

std::string path_of(const ObjectReader& reader, std::string_view key, size_t index) {
  return reader.path(key) + "[" + std::to_string(index) + "]";
}

Result<std::string> read_text(ObjectReader& reader, std::string_view key) {
  auto text = TRY(reader.text(key));
  if (!text || text->empty()) return reader.error(key, "missing");
  return *std::move(text);
}

// Nobody can be served by parameters that nobody reads: a misspelt one would be ignored.
Result<> check_parameters(ObjectReader& opaque, const std::string& driver) {
  const Json::Object* parameters = TRY(opaque.object("parameters"));
  if (parameters == nullptr || parameters->empty()) return {};
  ObjectReader reader(*parameters, opaque.path("parameters"));
  return reader.error(parameters->front().first,
                      "driver " + driver + " of this version takes no parameters; remove this config");
}

Result<> check_config(const Json& entry, const std::string& path, const ClaimReader& ours,
                      const std::vector<ClaimedRequest>& requests) {
  ObjectReader reader(*entry.as_object(), path);
  const Json::Object* opaque = TRY(reader.object("opaque"));
  if (opaque == nullptr) return {};
  ObjectReader inner(*opaque, reader.path("opaque"));
  if (TRY(inner.text("driver")).value_or("") != ours.driver) return {};
  const auto named = TRY(reader.texts("requests")).value_or(std::vector<std::string>());
  // The name of a request with alternatives stands for all of them.
  const bool of_ours = named.empty() || std::any_of(named.begin(), named.end(), [&](const std::string& name) {
                         return std::any_of(requests.begin(), requests.end(), [&](const auto& request) {
                           return request.name == name || request.name.starts_with(name + "/");
                         });
                       });
  return of_ours ? check_parameters(inner, ours.driver) : Result<>();
}

Result<> check_configs(ObjectReader& devices, const ClaimReader& ours,
                       const std::vector<ClaimedRequest>& requests) {
  // Two entries of a class and of the claim for each request.
  const Json::Array* list = TRY(read_list(devices, "config", 4 * kMaxResults));
  if (list == nullptr) return {};
  for (size_t i = 0; i < list->size(); ++i)
    TRY(check_config((*list)[i], path_of(devices, "config", i), ours, requests));
  return {};
}

void add_device(const std::string& request, const std::string& device, const std::string& share,
                std::vector<ClaimedRequest>& requests) {
  auto at = std::find_if(requests.begin(), requests.end(),
                         [&](const ClaimedRequest& one) { return one.name == request; });
  if (at == requests.end()) at = requests.insert(at, {request, {}});
  at->devices.push_back(device);
  if (!share.empty()) at->shares.insert_or_assign(device, share);
}

// Of what all of its devices are shared: who else has them does not matter.
bool is_shared(const std::vector<ClaimedRequest>& requests) {
  return std::all_of(requests.begin(), requests.end(), [](const ClaimedRequest& one) {
    return std::all_of(one.devices.begin(), one.devices.end(),
                       [&](const std::string& device) { return one.shares.contains(device); });
  });
}

Result<> read_result(const Json& entry, const std::string& path, const ClaimReader& ours,
                     std::vector<ClaimedRequest>& requests) {
  ObjectReader reader(*entry.as_object(), path);
  if (TRY(read_text(reader, "driver")) != ours.driver) return {};
  const std::string request = TRY(read_text(reader, "request"));
  const std::string device = TRY(read_text(reader, "device"));
  const std::string pool = TRY(read_text(reader, "pool"));
  if (pool != ours.node_pool)
    return Error{Errc::invalid, 0,
                 "request " + request + " has device " + device + " of pool " + pool +
                     ", and the pool of this node is " + ours.node_pool +
                     ": the claim is allocated for another node; delete the pod"};
  if (TRY(reader.boolean("adminAccess")).value_or(false))
    return Error{
        Errc::unsupported, 0,
        "request " + request + " asks for admin access to device " + device +
            ": such a claim ignores that a pod has the device already, so vfrail prepares nothing for "
            "it; remove adminAccess from the claim"};
  add_device(request, device, TRY(reader.text("shareID")).value_or(""), requests);
  return {};
}

Result<ClaimingPod> read_pod(ObjectReader& status, bool shared) {
  const Json::Array* list = TRY(read_list(status, "reservedFor", kMaxConsumers));
  if (list == nullptr || list->empty())
    return Error{Errc::invalid, 0, std::string("the claim is reserved for no pod; ") + kOneOwner};
  std::vector<std::string> names;
  ClaimingPod out;
  for (size_t i = 0; i < list->size(); ++i) {
    ObjectReader reader(*(*list)[i].as_object(), path_of(status, "reservedFor", i));
    const std::string resource = TRY(read_text(reader, "resource"));
    ClaimingPod pod;
    pod.name = TRY(read_text(reader, "name"));
    pod.uid = TRY(read_text(reader, "uid"));
    const bool is_pod = resource == "pods" && TRY(reader.text("apiGroup")).value_or("").empty();
    if (!is_pod)
      return Error{
          Errc::unsupported, 0,
          "the claim is reserved for " + resource + " " + pod.name + " and not for a pod; " + kOneOwner};
    if (names.empty()) out = pod;
    names.push_back(pod.name);
  }
  if (names.size() > 1 && !shared)
    return Error{Errc::invalid, 0,
                 "the claim is reserved for " + counted(names.size(), "pod") + " (" + first_few(names) +
                     "); " + kOneOwner};
  return out;
}

Result<> check_uid(ObjectReader& top, const ClaimName& name) {
  const Json::Object* metadata = TRY(top.object("metadata"));
  if (metadata == nullptr) return top.error("metadata", "missing");
  ObjectReader reader(*metadata, "metadata");
  const std::string uid = TRY(read_text(reader, "uid"));
  if (uid == name.uid) return {};
  return Error{Errc::not_found, 0,
               "there is a claim of that name with uid " + uid + ", and kubelet asks for " + name.uid +
                   ": the claim was deleted and made again"};
}

constexpr std::string_view kOfTemplate = "resource.kubernetes.io/pod-claim-name";
constexpr std::string_view kOfExtendedResource = "resource.kubernetes.io/extended-resource-claim";

Result<const Json*> find_annotation(ObjectReader& top, std::string_view name) {
  const Json::Object* metadata = TRY(top.object("metadata"));
  if (metadata == nullptr) return nullptr;
  ObjectReader reader(*metadata, "metadata");
  const Json::Object* all = TRY(reader.object("annotations"));
  for (size_t i = 0; all != nullptr && i < all->size(); ++i) {
    if ((*all)[i].first == name) return &(*all)[i].second;
  }
  return nullptr;
}

// It becomes a folder in the container, and anybody who may make a claim may write the annotation.
Result<std::string> read_pod_claim(ObjectReader& top) {
  const Json* value = TRY(find_annotation(top, kOfTemplate));
  const std::string* name = value == nullptr ? nullptr : value->as_text();
  return name != nullptr && is_dns_label(*name) ? *name : std::string();
}

// Multus finds the claims that Kubernetes makes for a pod, by its status, and not those that the pod names
// itself: such a pod would run without its device.
Result<> check_resolvable(ObjectReader& top) {
  if (TRY(find_annotation(top, kOfTemplate)) != nullptr) return {};
  if (TRY(find_annotation(top, kOfExtendedResource)) != nullptr) return {};
  return Error{
      Errc::unsupported, 0,
      "the pod refers to the claim directly (resourceClaimName), and Multus resolves only claims that are "
      "created for a pod: name a ResourceClaimTemplate in the pod (resourceClaimTemplateName), or request "
      "the "
      "extended resource. Where vfrail-cni attaches the devices of claims in Multus' place (\"claims\" in "
      "the "
      "list of the node's primary network), start vfrail serve with --dra-chained (chart: dra.chained)"};
}

Result<Claim> read_parts(const Json& json, const ClaimName& name, const ClaimReader& ours) {
  if (json.as_object() == nullptr)
    return Error{Errc::protocol, 0, std::string("must be an object, got ") + json.type_name()};
  ObjectReader top(*json.as_object(), "");
  TRY(check_uid(top, name));
  const Json::Object* status_object = TRY(top.object("status"));
  static const Json::Object kNothing;
  ObjectReader status(status_object == nullptr ? kNothing : *status_object, "status");
  const Json::Object* allocation = TRY(status.object("allocation"));
  if (allocation == nullptr)
    return Error{Errc::invalid, 0,
                 "the claim is not allocated: the scheduler has not run for its pod; do not set nodeName in "
                 "the pod, or wait"};
  ObjectReader allocated(*allocation, kAllocation);
  Claim out{.name = name,
            .pod = {},
            .node_pool = ours.node_pool,
            .driver = ours.driver,
            .pod_claim = {},
            .requests = {}};
  const Json::Object* devices_object = TRY(allocated.object("devices"));
  if (devices_object == nullptr) return out;
  ObjectReader devices(*devices_object, allocated.path("devices"));
  const Json::Array* results = TRY(read_list(devices, "results", kMaxResults));
  for (size_t i = 0; results != nullptr && i < results->size(); ++i)
    TRY(read_result((*results)[i], path_of(devices, "results", i), ours, out.requests));
  if (out.requests.empty()) return out;
  // What stays in the host needs no network, and so no Multus.
  const bool shared = is_shared(out.requests);
  out.is_chained = ours.chained && !shared;
  if (!shared && !ours.chained) TRY(check_resolvable(top));
  out.for_extended_resource = TRY(find_annotation(top, kOfExtendedResource)) != nullptr;
  out.pod_claim = TRY(read_pod_claim(top));
  out.pod = TRY(read_pod(status, shared));
  TRY(check_configs(devices, ours, out.requests));
  return out;
}

}  // namespace

Result<Claim> read_claim(const Json& json, const ClaimName& name, const ClaimReader& reader) {
  return TRY(read_parts(json, name, reader), "claim " + name.text());
}

}  // namespace vfrail::plugin

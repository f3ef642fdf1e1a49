#include "common/container/device_metadata.h"

#include "common/container/held_folder.h"
#include "common/files.h"

#include <algorithm>
#include <utility>

namespace vfrail {

namespace {

constexpr const char* kClaimsFolder = "claims";
constexpr const char* kMetadata = "metadata";
constexpr const char* kVersions[] = {"metadata.resource.k8s.io/v1beta1", "metadata.resource.k8s.io/v1alpha1"};
constexpr const char* kInContainer = "/var/run/kubernetes.io/dra-device-attributes/";
// A claim has 32 devices at most, each with some 30 attributes of 64 bytes.
constexpr size_t kMaxMetadataText = size_t{1} << 20;
// Limits of NetworkDeviceData (api/resource/v1/types.go).
constexpr size_t kMaxAddresses = 16;

std::string file_of(const ClaimRecord& record, size_t request) {
  return record.claim.uid + "-" + std::to_string(request) + ".json";
}

Json describe(const ClaimRecord& record, const DescribedDevice& device) {
  Json out = Json::object();
  out.set("driver", record.driver).set("pool", record.node_pool).set("name", device.name);
  out.set("attributes", device.attributes);
  if (!device.network.is_null()) out.set("networkData", device.network);
  return out;
}

Result<DescribedDevice> parse_device(const Json& json) {
  ObjectReader reader(*json.as_object(), "devices");
  DescribedDevice out;
  out.name = TRY(reader.text("name")).value_or("");
  if (const Json::Object* all = TRY(reader.object("attributes"))) out.attributes = *all;
  if (const Json::Object* network = TRY(reader.object("networkData"))) out.network = *network;
  return out;
}

// Less trusted processes write below the run folder, so no symbolic link there is followed.
Result<std::optional<HeldFolder>> find_folder(const std::string& run_dir) {
  const auto run = TRY(HeldFolder::open(run_dir));
  const auto claims = run ? TRY(run->enter(kClaimsFolder)) : std::nullopt;
  auto folder = claims ? TRY(claims->enter(kMetadata)) : std::nullopt;
  if (folder) TRY(folder->check_owner());
  return folder;
}

Result<std::optional<DeviceMetadata>> read_there(const HeldFolder& folder, const std::string& name) {
  const auto text = TRY(read_file(folder.at(name), kMaxMetadataText), folder.path() + "/" + name);
  if (!text) return std::optional<DeviceMetadata>();
  return std::optional(TRY(parse_metadata(*text), folder.path() + "/" + name));
}

}  // namespace

bool has_metadata(const ClaimRecord& record) {
  const auto is_share = [](const ClaimRecord::Device& device) { return !device.share.empty(); };
  return !record.for_extended_resource && !record.driver.empty() &&
         std::none_of(record.requests.begin(), record.requests.end(), [&](const auto& request) {
           return std::any_of(request.devices.begin(), request.devices.end(), is_share);
         });
}

std::string metadata_path(const std::string& run_dir, const ClaimRecord& record, size_t request) {
  return run_dir + "/" + kClaimsFolder + "/" + kMetadata + "/" + file_of(record, request);
}

std::string metadata_in_container(const ClaimRecord& record, size_t request) {
  const std::string& name = record.requests.at(request).name;
  return kInContainer +
         (record.pod_claim.empty() ? "resourceclaims/" + record.claim.name
                                   : "resourceclaimtemplates/" + record.pod_claim) +
         // Of an alternative the request: a container does not know which one it got.
         "/" + name.substr(0, name.find('/')) + "/" + record.driver + "-metadata.json";
}

std::string format_metadata(const ClaimRecord& record, size_t request, const DeviceMetadata& metadata) {
  const std::string& name = record.requests.at(request).name;
  Json devices = Json::array();
  for (const DescribedDevice& device : metadata.devices) devices.push(describe(record, device));
  Json of_request = Json::object();
  of_request.set("name", name.substr(0, name.find('/'))).set("devices", std::move(devices));
  const Json about = Json::object()
                         .set("name", record.claim.name)
                         .set("namespace", record.claim.name_space)
                         .set("uid", record.claim.uid)
                         .set("generation", metadata.generation);
  std::string out;
  for (const char* version : kVersions) {
    Json one = Json::object();
    one.set("kind", "DeviceMetadata").set("apiVersion", version).set("metadata", about);
    if (!record.pod_claim.empty()) one.set("podClaimName", record.pod_claim);
    one.set("requests", Json::array().push(of_request));
    out += one.text() + "\n";
  }
  return out;
}

Result<DeviceMetadata> parse_metadata(std::string_view text) {
  const Json json = TRY(Json::parse_object(text.substr(0, text.find('\n')), kMaxMetadataText));
  ObjectReader reader(*json.as_object(), "");
  DeviceMetadata out;
  if (const Json::Object* about = TRY(reader.object("metadata"))) {
    ObjectReader of_claim(*about, "metadata");
    out.generation = TRY(of_claim.integer("generation", 1, 1'000'000'000)).value_or(1);
  }
  const Json::Array* requests = TRY(reader.array("requests"));
  if (requests == nullptr || requests->size() != 1 || requests->front().as_object() == nullptr)
    return reader.error("requests", "must be a list with one object");
  ObjectReader request(*requests->front().as_object(), "requests[0]");
  const Json::Array* devices = TRY(request.array("devices"));
  for (size_t i = 0; devices != nullptr && i < devices->size(); ++i) {
    if ((*devices)[i].as_object() == nullptr) return request.error("devices", "must be a list of objects");
    out.devices.push_back(TRY(parse_device((*devices)[i])));
  }
  return out;
}

Result<> write_metadata(const std::string& run_dir, const ClaimRecord& record, size_t request,
                        const std::vector<DescribedDevice>& devices) {
  const std::string path = metadata_path(run_dir, record, request);
  TRY(make_folder(run_dir + "/" + kClaimsFolder + "/" + kMetadata, 0755));
  const auto text = TRY(read_file(path, kMaxMetadataText));
  // One that cannot be read is of no use to anybody.
  if (text && parse_metadata(*text)) return {};
  return write_file(path, format_metadata(record, request, {1, devices}), 0644, Durability::renamed);
}

Result<> add_network_data(const std::string& run_dir, const ClaimRecord& record, size_t request,
                          const std::string& device, const Json& network) {
  const auto folder = TRY(find_folder(run_dir));
  const std::string name = file_of(record, request);
  auto there = folder ? TRY(read_there(*folder, name)) : std::nullopt;
  if (!there) return {};
  for (DescribedDevice& one : there->devices) {
    if (one.name == device) one.network = network;
  }
  ++there->generation;
  return write_file(folder->at(name), format_metadata(record, request, *there), 0644, Durability::renamed);
}

Result<> remove_metadata(const std::string& run_dir, const ClaimRecord& record) {
  const auto folder = TRY(find_folder(run_dir));
  for (size_t i = 0; folder && i < record.requests.size(); ++i)
    TRY(remove_file(folder->at(file_of(record, i))));
  return {};
}

Json network_data(const Record& record) {
  Json addresses = Json::array();
  for (const IpAddress& address : record.in_pod->addresses) {
    if (addresses.as_array()->size() < kMaxAddresses) addresses.push(address.cidr());
  }
  Json out = Json::object();
  out.set("interfaceName", record.attachment.ifname.text());
  if (!addresses.as_array()->empty()) out.set("ips", std::move(addresses));
  if (!record.in_pod->mac.bytes.empty()) out.set("hardwareAddress", record.in_pod->mac.text());
  return out;
}

}  // namespace vfrail

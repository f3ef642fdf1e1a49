#include "common/container/claim_record.h"

#include "common/container/held_folder.h"
#include "common/errors/error_id.h"
#include "common/files.h"
#include "common/json.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string_view>
#include <utility>

namespace vfrail {

namespace {

namespace fs = std::filesystem;

constexpr const char* kClaims = "claims";
constexpr std::string_view kJsonEnding = ".json";
constexpr size_t kMaxRecordText = size_t{256} << 10;
constexpr size_t kMaxClaims = 16'384;
constexpr int64_t kClaimSchema = 1;
// A pool has fewer devices.
constexpr int64_t kMaxStep = 65'536;

// It becomes a file name. The API server makes UUIDs of 36 characters.
constexpr size_t kMaxUid = 128;

Result<> check_claim_uid(const std::string& uid) {
  const bool good = !uid.empty() && uid.size() <= kMaxUid && uid.front() != '.' &&
                    std::all_of(uid.begin(), uid.end(), [](unsigned char c) {
                      return std::isalnum(c) != 0 || c == '-' || c == '.' || c == '_';
                    });
  if (good) return {};
  return Error{Errc::invalid, 0, "a claim has a uid of letters, digits and '-', got \"" + uid + "\""};
}

std::string file_of(const std::string& uid) { return uid + std::string(kJsonEnding); }

Json format_device(const ClaimRecord::Device& device) {
  Json out = Json::object();
  out.set("device", device.device).set("resource", device.resource).set("unit", device.unit);
  if (!device.share.empty()) out.set("share", device.share).set("step", int64_t{device.step});
  return out;
}

Json format_claim(const ClaimRecord& record) {
  Json requests = Json::array();
  for (const ClaimRecord::Request& request : record.requests) {
    Json devices = Json::array();
    for (const ClaimRecord::Device& device : request.devices) devices.push(format_device(device));
    requests.push(Json::object().set("name", request.name).set("devices", std::move(devices)));
  }
  Json out = Json::object();
  if (record.for_extended_resource) out.set("extended_resource", true);
  if (record.is_chained) out.set("chained", true);
  if (!record.driver.empty()) out.set("driver", record.driver);
  if (!record.pod_claim.empty()) out.set("pod_claim", record.pod_claim);
  return out.set("schema", kClaimSchema)
      .set("namespace", record.claim.name_space)
      .set("name", record.claim.name)
      .set("uid", record.claim.uid)
      .set("pod", Json::object().set("name", record.pod.name).set("uid", record.pod.uid))
      .set("pool", record.node_pool)
      .set("requests", std::move(requests));
}

Result<std::string> needed(ObjectReader& reader, std::string_view key) {
  auto text = TRY(reader.text(key));
  if (!text) return reader.error(key, "missing");
  return *std::move(text);
}

Result<const Json::Array*> objects(ObjectReader& reader, std::string_view key) {
  const Json::Array* list = TRY(reader.array(key));
  if (list == nullptr) return reader.error(key, "missing");
  for (const Json& entry : *list) {
    if (entry.as_object() == nullptr) return reader.error(key, "must be a list of objects");
  }
  return list;
}

Result<ClaimRecord::Request> parse_request(ObjectReader& reader) {
  ClaimRecord::Request out;
  out.name = TRY(needed(reader, "name"));
  for (const Json& entry : *TRY(objects(reader, "devices"))) {
    ObjectReader inner(*entry.as_object(), reader.path("devices"));
    ClaimRecord::Device device;
    device.device = TRY(needed(inner, "device"));
    device.resource = TRY(needed(inner, "resource"));
    // Containers' claims are counted beside resources under names with a space ("claim default/nics").
    if (device.resource.find(' ') != std::string::npos)
      return inner.error("resource", "must be the name of a resource, such as nvidia.com/hostdev");
    device.unit = TRY(needed(inner, "unit"));
    device.share = TRY(inner.text("share")).value_or("");
    if (!device.share.empty())
      device.step = static_cast<uint32_t>(TRY(inner.integer("step", 1, kMaxStep)).value_or(1));
    out.devices.push_back(std::move(device));
  }
  return out;
}

// Less trusted processes write below the run folder, so no symbolic link there is followed.
Result<std::optional<HeldFolder>> find_claims(const std::string& run_dir) {
  const auto run = TRY(HeldFolder::open(run_dir));
  auto folder = run ? TRY(run->enter(kClaims)) : std::nullopt;
  if (folder) TRY(folder->check_owner());
  return folder;
}

// A folder of hundreds of claims is read at each start of a pod: what does not even mention it is not parsed.
Result<std::optional<ClaimRecord>> read_if_of_pod(const std::string& run_dir, const std::string& uid,
                                                  const std::string& name_space, const ClaimingPod& pod) {
  const auto folder = TRY(find_claims(run_dir));
  if (!folder) return std::optional<ClaimRecord>();
  const auto text =
      TRY(read_file(folder->at(file_of(uid)), kMaxRecordText), folder->path() + "/" + file_of(uid));
  const std::string& known = pod.uid.empty() ? pod.name : pod.uid;
  if (!text || text->find(known) == std::string::npos) return std::optional<ClaimRecord>();
  auto record = TRY(read_claim_record(run_dir, uid));
  const bool is_its =
      record && (pod.uid.empty() ? record->pod.name == pod.name && record->claim.name_space == name_space
                                 : record->pod.uid == pod.uid);
  return is_its ? std::move(record) : std::nullopt;
}

}  // namespace

Result<ClaimRecord> parse_claim_record(const std::string& uid, std::string_view text) {
  const Json json = TRY(Json::parse_object(text, kMaxRecordText));
  ObjectReader reader(*json.as_object(), "");
  TRY(reader.schema(kClaimSchema));
  ClaimRecord out;
  out.claim.name_space = TRY(needed(reader, "namespace"));
  out.claim.name = TRY(needed(reader, "name"));
  out.claim.uid = TRY(needed(reader, "uid"));
  if (out.claim.uid != uid) return reader.error("uid", "is of another claim: " + out.claim.uid);
  out.node_pool = TRY(needed(reader, "pool"));
  out.for_extended_resource = TRY(reader.boolean("extended_resource")).value_or(false);
  out.is_chained = TRY(reader.boolean("chained")).value_or(false);
  out.driver = TRY(reader.text("driver")).value_or("");
  out.pod_claim = TRY(reader.text("pod_claim")).value_or("");
  const Json::Object* pod = TRY(reader.object("pod"));
  if (pod == nullptr) return reader.error("pod", "missing");
  ObjectReader of_pod(*pod, "pod");
  out.pod.name = TRY(needed(of_pod, "name"));
  out.pod.uid = TRY(needed(of_pod, "uid"));
  for (const Json& entry : *TRY(objects(reader, "requests"))) {
    ObjectReader inner(*entry.as_object(), "requests");
    out.requests.push_back(TRY(parse_request(inner)));
  }
  return out;
}

std::string format_claim_record(const ClaimRecord& record) { return format_claim(record).text() + "\n"; }

std::string ClaimRecord::text() const { return "claim " + claim.text() + " of pod " + pod.name; }

Result<> write_claim(const std::string& run_dir, const ClaimRecord& record) {
  TRY(check_claim_uid(record.claim.uid));
  const std::string folder = run_dir + "/" + kClaims;
  TRY(make_folder(folder, 0700));
  return write_file(folder + "/" + file_of(record.claim.uid), format_claim_record(record), 0600,
                    Durability::renamed);
}

Result<std::optional<ClaimRecord>> read_claim_record(const std::string& run_dir, const std::string& uid) {
  TRY(check_claim_uid(uid));
  const auto folder = TRY(find_claims(run_dir));
  if (!folder) return std::optional<ClaimRecord>();
  const std::string path = folder->path() + "/" + file_of(uid);
  const auto text = TRY(read_file(folder->at(file_of(uid)), kMaxRecordText), path);
  if (!text) return std::optional<ClaimRecord>();
  auto record = parse_claim_record(uid, *text);
  if (!record)
    return Error{
        Errc::protocol, 0,
        "the record " + path + " cannot be read: " + record.error().text + "; remove it when its pod is gone",
        ErrorId::record_damaged};
  return std::optional(*std::move(record));
}

Result<> remove_claim(const std::string& run_dir, const std::string& uid) {
  TRY(check_claim_uid(uid));
  const auto folder = TRY(find_claims(run_dir));
  return folder ? remove_file(folder->at(file_of(uid))) : Result<>();
}

Result<std::vector<std::string>> list_claims(const std::string& run_dir) {
  std::vector<std::string> out;
  const auto folder = TRY(find_claims(run_dir));
  if (!folder) return out;
  std::error_code failed;
  for (fs::directory_iterator at(folder->at(""), failed), end; !failed && at != end; at.increment(failed)) {
    std::string name = at->path().filename().string();
    if (!name.ends_with(kJsonEnding)) continue;
    name.resize(name.size() - kJsonEnding.size());
    if (!check_claim_uid(name)) continue;
    if (out.size() == kMaxClaims)
      return Error{Errc::invalid, 0,
                   folder->path() + " has more than " + std::to_string(kMaxClaims) +
                       " records of claims; remove those whose pods are gone",
                   ErrorId::state_folder};
    out.push_back(std::move(name));
  }
  if (failed) return Error::from_errno(failed.value(), "list " + folder->path());
  std::sort(out.begin(), out.end());
  return out;
}

Result<std::vector<ClaimRecord>> claims_of_pod(const std::string& run_dir, const std::string& name_space,
                                               const ClaimingPod& pod) {
  std::vector<ClaimRecord> out;
  if (pod.uid.empty() && pod.name.empty()) return out;
  for (const std::string& uid : TRY(list_claims(run_dir))) {
    if (auto record = TRY(read_if_of_pod(run_dir, uid, name_space, pod))) out.push_back(*std::move(record));
  }
  std::sort(out.begin(), out.end(),
            [](const ClaimRecord& a, const ClaimRecord& b) { return a.claim < b.claim; });
  return out;
}

}  // namespace vfrail

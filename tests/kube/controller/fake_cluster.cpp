#include "tests/kube/controller/fake_cluster.h"

#include "common/text.h"
#include "plugin/kube/access/fields.h"
#include "plugin/kube/client/resource_type.h"

namespace vfrail::kube {

namespace {

// As server-side apply does with maps; of lists the last counts.
void merge(Json& into, const Json& fields) {
  for (const auto& [key, value] : *fields.as_object()) {
    const Json* before = into.find(key);
    if (before == nullptr || before->as_object() == nullptr || value.as_object() == nullptr) {
      into.set(key, value);
      continue;
    }
    Json inner = *before;
    merge(inner, value);
    into.set(key, std::move(inner));
  }
}

std::pair<unsigned, std::string> refusal(unsigned status, const std::string& reason,
                                         const std::string& message = "no") {
  return {status, status_text(status, reason, message)};
}

void set_metadata(Json& object, const char* key, const std::string& value) {
  Json metadata = *object.find("metadata");
  metadata.set(key, value);
  object.set("metadata", std::move(metadata));
}

}  // namespace

// "/apis/GROUP/VERSION/namespaces/NS/PLURAL/NAME/status?watch=1".
struct FakeCluster::Target {
  std::string plural;
  std::string name_space;
  std::string name;  // with the namespace; empty: the collection
  bool is_status = false;
  bool is_watch = false;
  bool is_dry_run = false;
  size_t version = 0;
  size_t limit = SIZE_MAX;  // of a page of a list
  size_t begin = 0;         // of the page
};

FakeCluster::Target FakeCluster::parse(const std::string& target) {
  Target out;
  const std::string path = target.substr(0, target.find('?'));
  std::vector<std::string> parts = split(path, "/");
  const size_t group = parts.front() == "apis" ? 3 : 2;
  if (parts.size() <= group) return out;  // a page
  parts.erase(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(group));
  if (parts.front() == "namespaces" && parts.size() > 2) {
    out.name_space = parts[1];
    parts.erase(parts.begin(), parts.begin() + 2);
  }
  out.plural = parts.front();
  if (parts.size() > 1) out.name = ObjectName{out.name_space, parts[1]}.text();
  out.is_status = parts.size() > 2 && parts[2] == "status";
  out.is_watch =
      target.find("watch=1") != std::string::npos || target.find("watch=true") != std::string::npos;
  out.is_dry_run = target.find("dryRun=All") != std::string::npos;
  if (const size_t at = target.find("resourceVersion="); at != std::string::npos)
    out.version = std::strtoul(target.c_str() + at + 16, nullptr, 10);
  if (const size_t at = target.find("limit="); at != std::string::npos)
    out.limit = std::strtoul(target.c_str() + at + 6, nullptr, 10);
  if (const size_t at = target.find("continue="); at != std::string::npos)
    out.begin = std::strtoul(target.c_str() + at + 9, nullptr, 10);
  return out;
}

FakeCluster::FakeCluster()
    : server_([this](const ServedRequest& request, ServedAnswer& answer) { serve(request, answer); }) {}

FakeCluster::~FakeCluster() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
}

void FakeCluster::put(const std::string& plural, Json object) {
  const std::lock_guard lock(mutex_);
  const std::string name = name_of(object).text();
  store(plural, name, std::move(object));
}

void FakeCluster::erase(const std::string& plural, const std::string& name) {
  const std::lock_guard lock(mutex_);
  remove(plural, name);
}

std::optional<Json> FakeCluster::find(const std::string& plural, const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto kind = objects_.find(plural);
  if (kind == objects_.end()) return std::nullopt;
  const auto at = kind->second.find(name);
  return at == kind->second.end() ? std::nullopt : std::optional(at->second);
}

std::vector<Json> FakeCluster::all(const std::string& plural) const {
  const std::lock_guard lock(mutex_);
  std::vector<Json> out;
  if (const auto kind = objects_.find(plural); kind != objects_.end()) {
    for (const auto& [name, object] : kind->second) out.push_back(object);
  }
  return out;
}

void FakeCluster::page(const std::string& path, const std::string& text) {
  const std::lock_guard lock(mutex_);
  pages_[path] = text;
}

size_t FakeCluster::count(const std::string& plural) const {
  const std::lock_guard lock(mutex_);
  const auto kind = objects_.find(plural);
  return kind == objects_.end() ? 0 : kind->second.size();
}

void FakeCluster::serve_kind(const std::string& plural, bool served) {
  const std::lock_guard lock(mutex_);
  if (served)
    unknown_.erase(plural);
  else
    unknown_.insert(plural);
}

void FakeCluster::refuse_writes(const std::string& plural, unsigned status) {
  const std::lock_guard lock(mutex_);
  refusals_[plural] = status;
}

void FakeCluster::refuse_reads(const std::string& plural, unsigned status) {
  const std::lock_guard lock(mutex_);
  read_refusals_[plural] = status;
}

void FakeCluster::refuse_watches(const std::string& plural, unsigned status) {
  const std::lock_guard lock(mutex_);
  watch_refusals_[plural] = status;
}

void FakeCluster::refuse_queries(const std::string& text) {
  const std::lock_guard lock(mutex_);
  refused_query_ = text;
}

void FakeCluster::change_writes(std::function<void(Json&)> change) {
  const std::lock_guard lock(mutex_);
  change_ = std::move(change);
}

std::vector<std::string> FakeCluster::writes() const {
  const std::lock_guard lock(mutex_);
  return writes_;
}

// With mutex_ held.
Json FakeCluster::store(const std::string& plural, const std::string& name, Json object) {
  auto& kind = objects_[plural];
  const auto before = kind.find(name);
  set_metadata(object, "resourceVersion", std::to_string(++version_));
  if (uid_of(object).empty())
    set_metadata(object, "uid",
                 before == kind.end() ? "uid-" + std::to_string(version_) : uid_of(before->second));
  changes_.push_back({version_, plural, before == kind.end() ? "ADDED" : "MODIFIED", object});
  kind[name] = object;
  changed_.notify_all();
  return object;
}

// With mutex_ held.
void FakeCluster::remove(const std::string& plural, const std::string& name) {
  Json last = objects_[plural][name];
  objects_[plural].erase(name);
  set_metadata(last, "resourceVersion", std::to_string(++version_));
  changes_.push_back({version_, plural, "DELETED", std::move(last)});
  changed_.notify_all();
}

void FakeCluster::serve(const ServedRequest& request, ServedAnswer& answer) {
  const Target target = parse(request.target);
  std::pair<unsigned, std::string> out;
  {
    const std::lock_guard lock(mutex_);
    const bool is_read = request.method == "GET";
    if (!is_read && target.plural != "leases" && !target.is_dry_run)
      writes_.push_back(request.method + " " + target.plural);
    if (const auto page = pages_.find(request.target); is_read && page != pages_.end()) {
      out = {200, page->second};
    } else if (unknown_.contains(target.plural)) {
      out = refusal(404, "NotFound", "the server could not find the requested resource");
    } else if (is_read && !refused_query_.empty() &&
               request.target.find(refused_query_) != std::string::npos) {
      out = refusal(400, "BadRequest", "field label not supported: " + refused_query_);
    } else if (!is_read) {
      out = answer_write(request, target);
    } else if (target.plural.empty()) {
      out = refusal(404, "NotFound");
    } else if (!target.is_watch) {
      out = answer_read(target);
    } else if (const unsigned status = watch_refusals_[target.plural]; status != 0) {
      out = refusal(status, "Forbidden", "cannot watch " + target.plural);
    }
  }
  if (out.first != 0) return answer.reply(out.first, out.second);
  watch(target, answer);
}

void FakeCluster::watch(const Target& target, ServedAnswer& answer) {
  answer.begin(200);
  size_t seen = target.version;
  std::unique_lock lock(mutex_);
  while (!ends_) {
    std::string text;
    for (const Change& change : changes_) {
      if (change.version <= seen || change.plural != target.plural) continue;
      seen = change.version;
      text += R"({"type":")" + change.type + R"(","object":)" + change.object.text() + "}\n";
    }
    if (text.empty()) {
      changed_.wait(lock);
      continue;
    }
    lock.unlock();
    answer.chunk(text);
    lock.lock();
  }
}

std::pair<unsigned, std::string> FakeCluster::answer_read(const Target& target) {
  if (const unsigned status = read_refusals_[target.plural]; status != 0)
    return refusal(status, "Forbidden", "cannot list " + target.plural);
  const auto& kind = objects_[target.plural];
  if (!target.name.empty()) {
    const auto at = kind.find(target.name);
    return at == kind.end() ? refusal(404, "NotFound") : std::pair(200U, at->second.text());
  }
  Json items = Json::array();
  Json metadata = Json::object();
  metadata.set("resourceVersion", std::to_string(version_));
  size_t number = 0;
  for (const auto& [name, object] : kind) {
    const size_t at = number++;
    if (at >= target.begin && at - target.begin < target.limit) items.push(object);
    if (at >= target.begin && at - target.begin == target.limit) metadata.set("continue", std::to_string(at));
  }
  Json list;
  list.set("metadata", std::move(metadata));
  list.set("items", std::move(items));
  return {200, list.text()};
}

std::pair<unsigned, std::string> FakeCluster::answer_write(const ServedRequest& request,
                                                           const Target& target) {
  if (const auto refused = refusals_.find(target.plural); refused != refusals_.end() && refused->second != 0)
    return refusal(refused->second, "Said", "it is refused here");
  auto& kind = objects_[target.plural];
  auto parsed = request.body.empty() ? Result<Json>(Json::object()) : Json::parse(request.body);
  if (!parsed) return refusal(400, "BadRequest", parsed.error().text);
  if (change_ && request.method != "DELETE") change_(*parsed);
  if (target.is_dry_run) return {201, parsed->text()};
  if (const std::string prefix = text_at(*parsed, {"metadata", "generateName"});
      request.method == "POST" && !prefix.empty() && name_of(*parsed).name.empty())
    set_metadata(*parsed, "name", prefix + std::to_string(version_ + 10'000));
  const std::string name =
      target.name.empty() ? ObjectName{target.name_space, name_of(*parsed).name}.text() : target.name;
  const auto before = kind.find(name);
  if (request.method == "POST") {
    if (before != kind.end()) return refusal(409, "AlreadyExists");
    return {201, store(target.plural, name, *parsed).text()};
  }
  if (before == kind.end()) return refusal(404, "NotFound");
  if (request.method == "DELETE") {
    const Json* conditions = parsed->find("preconditions");
    const Json* uid = conditions == nullptr ? nullptr : conditions->find("uid");
    if (uid != nullptr && *uid != Json(uid_of(before->second))) return refusal(409, "Conflict");
    remove(target.plural, name);
    return {200, R"({"kind":"Status","status":"Success"})"};
  }
  const std::string version = version_of(*parsed);
  if (!version.empty() && version != version_of(before->second)) return refusal(409, "Conflict");
  if (request.method == "PUT") return {200, store(target.plural, name, *parsed).text()};
  Json merged = before->second;
  if (target.is_status) {
    merged.set("status", *parsed->find("status"));
  } else {
    merge(merged, *parsed);
  }
  return {200, store(target.plural, name, std::move(merged)).text()};
}

}  // namespace vfrail::kube

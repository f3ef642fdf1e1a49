#include "plugin/kube/client/api_client.h"

#include "plugin/kube/access/fields.h"
#include "plugin/kube/client/connection.h"
#include "plugin/kube/client/credentials.h"
#include "plugin/kube/client/pause.h"
#include "plugin/kube/client/refusal.h"
#include "plugin/kube/client/watch_lines.h"

#include <array>
#include <utility>

namespace vfrail::kube {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

namespace {

constexpr const char* kJson = "application/json";
constexpr const char* kApply = "application/apply-patch+yaml";  // JSON is YAML
// A page of a list: of 100 pods with everything that is in them some MiB.
constexpr size_t kMaxListBytes = 64 << 20;
constexpr size_t kMaxObjectBytes = 16 << 20;
// Lists of a million objects are not ours; a server that never ends one is not followed.
constexpr uint32_t kMaxPages = 10'000;
// A new connection reads CA and certificates again, so that a rotation needs no restart.
constexpr std::chrono::minutes kConnectionAge{5};
// What a server that has no time asks for (Retry-After) is respected so often.
constexpr int kMaxRetries = 3;
// Beyond the end that the server was asked for, before a watch counts as dead.
constexpr seconds kWatchGrace{30};

std::string query_of(const Selectors& selectors) {
  std::string out;
  if (!selectors.labels.empty()) out += "&labelSelector=" + url_escape(selectors.labels);
  if (!selectors.fields.empty()) out += "&fieldSelector=" + url_escape(selectors.fields);
  return out;
}

// Objects in a list are without kind and apiVersion.
Result<> each_item(Json& list, const ResourceType& type, const std::function<void(Json&&)>& each) {
  Json::Object* fields = list.as_object();
  if (fields == nullptr) return Error{Errc::protocol, 0, "the list: must be an object"};
  for (auto& [key, value] : *fields) {
    if (key != "items") continue;
    if (value.is_null()) return {};
    if (value.as_array() == nullptr) return Error{Errc::protocol, 0, "items of the list: must be a list"};
    for (Json& item : *value.as_array()) {
      if (item.as_object() == nullptr) return Error{Errc::protocol, 0, "items of the list: must be objects"};
      if (item.find("kind") == nullptr) item.set("kind", std::string(type.kind));
      if (item.find("apiVersion") == nullptr) item.set("apiVersion", type.api_version());
      each(std::move(item));
    }
    return {};
  }
  return Error{Errc::protocol, 0, "the list has no items"};
}

}  // namespace

struct ApiClient::Request {
  std::string method = "GET";
  std::string target = {};
  std::string content_type = {};
  std::string body = {};
  size_t limit = kMaxObjectBytes;
  bool repeatable = true;  // a second time does nothing more

  std::string title() const { return method + " " + target.substr(0, target.find('?')); }
};

struct ApiClient::Answer {
  unsigned status = 0;
  std::string body;
  std::optional<seconds> retry_after = {};
  bool ok() const { return status >= 200 && status <= 299; }
};

ApiClient::ApiClient(ClusterAccess access, std::stop_token stop)
    : access_(std::make_unique<const ClusterAccess>(std::move(access))),
      stop_(std::move(stop)),
      credentials_(std::make_unique<Credentials>(*access_)) {}
ApiClient::ApiClient(ApiClient&&) noexcept = default;
ApiClient::~ApiClient() = default;

Result<Connection*> ApiClient::connection() {
  const auto now = Clock::now();
  if (connection_ && connection_->is_reusable() && now - connected_ < kConnectionAge)
    return connection_.get();
  connection_.reset();
  const TlsMaterial tls = TRY(credentials_->tls(now));
  connection_ =
      TRY(Connection::open({access_->host, access_->port, access_->verified_name}, tls, patience_, stop_),
          access_->source);
  connected_ = now;
  ++counts_.connections;
  return connection_.get();
}

// The head of the answer; its body is to be read from the connection. A connection that the server has ended
// while nobody used it is replaced.
Result<HttpHead> ApiClient::begin(const Request& request) {
  const bool had_one = connection_ != nullptr;
  HttpRequest message{request.method, access_->path + request.target, {}, request.content_type, request.body};
  for (bool again = false;; again = true) {
    Connection& connected = *TRY(connection());
    message.token = TRY(credentials_->token(Clock::now()));
    ++counts_.requests;
    auto head = connected.request(message, patience_);
    if (head) return head;
    const bool stale = had_one && !again && request.repeatable && !connected.has_answer() &&
                       head.error().code != Errc::timeout && head.error().code != Errc::not_yet;
    connection_.reset();
    if (!stale) return std::move(head.error()).in(request.title());
  }
}

Result<std::string> ApiClient::read_body(size_t limit, const std::string& title, bool* cut) {
  std::string out;
  std::array<char, 16 * 1024> buffer;
  const auto deadline = Clock::now() + patience_;
  for (;;) {
    const auto left = std::chrono::duration_cast<milliseconds>(deadline - Clock::now());
    auto got = left.count() > 0 ? connection_->read(buffer, left)
                                : Result<size_t>(Error{Errc::timeout, 0, "the answer does not end"});
    if (got && *got == 0) return out;
    if (cut != nullptr) *cut = !got && got.error().code != Errc::timeout && got.error().code != Errc::not_yet;
    if (got && out.size() + *got > limit)
      got = Error{Errc::protocol, 0, "an answer of more than " + std::to_string(limit >> 20) + " MiB"};
    if (!got) {
      connection_.reset();
      return std::move(got.error()).in(title);
    }
    counts_.bytes_received += *got;
    out.append(buffer.data(), *got);
  }
}

Result<ApiClient::Answer> ApiClient::send(const Request& request) {
  bool renewed = false;
  bool repeated = false;
  for (int retries = 0;;) {
    const HttpHead head = TRY(begin(request));
    Answer out;
    out.status = head.status;
    bool cut = false;
    auto body = read_body(request.limit, request.title(), &cut);
    // A server that stops, or what is between, ends the connection within an answer: the next one has all.
    if (!body && cut && request.repeatable && !std::exchange(repeated, true)) continue;
    out.body = TRY(std::move(body));
    if (head.status == 401 && !renewed) {
      renewed = true;
      credentials_->refused();
      connection_.reset();  // a certificate is shown once for each connection
      continue;
    }
    const bool overloaded = (head.status == 429 || head.status == 503) && head.retry_after;
    if (!overloaded || retries++ >= kMaxRetries || *head.retry_after > patience_) return out;
    if (!pause_for(*head.retry_after, stop_)) return out;
  }
}

Result<Json> ApiClient::send_for_json(const Request& request) {
  const Answer answer = TRY(send(request));
  if (!answer.ok()) return refusal(request.title(), answer.status, answer.body);
  return TRY(Json::parse_object(answer.body, request.limit), request.title());
}

Result<std::optional<Json>> ApiClient::get(const ResourceType& type, const ObjectName& object) {
  auto value = send_for_json({.target = path_of(type, object)});
  if (value) return std::optional(*std::move(value));
  if (value.error().code == Errc::not_found && value.error().sys == 404) return std::optional<Json>();
  return value.error();
}

Result<std::string> ApiClient::list(const ResourceType& type, const std::string& name_space,
                                    const Selectors& selectors, const std::function<void(Json&&)>& each,
                                    const std::function<void()>& restart) {
  std::string next;
  bool restarted = false;
  for (uint32_t pages = 0; pages < kMaxPages; ++pages) {
    Request request{.target = path_of(type, {name_space, ""}) + "?limit=" + std::to_string(page_) +
                              query_of(selectors)};
    request.limit = kMaxListBytes;
    if (!next.empty()) request.target += "&continue=" + url_escape(next);
    auto list = send_for_json(request);
    if (!list && list.error().sys == 410 && !next.empty() && !restarted) {
      restarted = true;
      next.clear();
      restart();
      continue;
    }
    if (!list) return list.error();
    TRY(each_item(*list, type, each), request.title());
    next = text_at(*list, {"metadata", "continue"});
    if (next.empty()) return text_at(*list, {"metadata", "resourceVersion"});
  }
  return Error{Errc::protocol, 0, "GET " + path_of(type, {name_space, ""}) + ": the list does not end"};
}

Result<> ApiClient::watch(const ResourceType& type, const std::string& name_space, const Selectors& selectors,
                          const std::string& version, uint32_t seconds_of_watch,
                          const std::function<void(std::string_view, Json&&)>& event) {
  const Request request{
      .target = path_of(type, {name_space, ""}) +
                "?watch=1&allowWatchBookmarks=true&timeoutSeconds=" + std::to_string(seconds_of_watch) +
                "&resourceVersion=" + url_escape(version) + query_of(selectors)};
  const std::string title = "watch " + path_of(type, {name_space, ""});
  const HttpHead head = TRY(begin(request));
  if (head.status != 200) {
    if (head.status == 401) credentials_->refused();
    return refusal(title, head.status, TRY(read_body(request.limit, title)));
  }
  const auto on_event = [&](std::string_view kind, Json&& object) -> Result<> {
    if (kind == "ERROR") return refusal_of_event(title, object);
    event(kind, std::move(object));
    return {};
  };
  auto result = read_events(seconds(seconds_of_watch) + kWatchGrace, on_event);
  if (!result) {
    connection_.reset();
    return std::move(result.error()).in(title);
  }
  return {};
}

Result<> ApiClient::read_events(milliseconds most, const WatchLines::Event& event) {
  WatchLines lines;
  std::array<char, 16 * 1024> buffer;
  const auto deadline = Clock::now() + most;
  for (;;) {
    const auto left = std::chrono::duration_cast<milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) return Error{Errc::timeout, 0, "the server does not end it"};
    const size_t got = TRY(connection_->read(buffer, left));
    if (got == 0) break;
    counts_.bytes_received += got;
    TRY(lines.add({buffer.data(), got}, event));
  }
  if (lines.is_cut()) return Error{Errc::protocol, 0, "ended in the middle of an event"};
  return {};
}

Result<Json> ApiClient::create(const ResourceType& type, const std::string& name_space, const Json& object,
                               Storage storage) {
  const char* mode = storage == Storage::dry_run ? "&dryRun=All" : "";
  return send_for_json({.method = "POST",
                        .target = path_of(type, {name_space, ""}) + "?fieldManager=vfrail" + mode,
                        .content_type = kJson,
                        .body = object.text(),
                        .repeatable = false});
}

Result<Json> ApiClient::apply(const ResourceType& type, const ObjectName& object, const Json& fields,
                              const ApplyOptions& options) {
  return send_for_json(
      {.method = "PATCH",
       .target = path_of(type, object) + (options.subresource.empty() ? "" : "/" + options.subresource) +
                 "?fieldManager=" + url_escape(options.manager) + (options.force ? "&force=true" : ""),
       .content_type = kApply,
       .body = fields.text()});
}

Result<Json> ApiClient::replace(const ResourceType& type, const ObjectName& object, const Json& value,
                                const std::string& subresource) {
  return send_for_json({.method = "PUT",
                        .target = path_of(type, object) + (subresource.empty() ? "" : "/" + subresource) +
                                  "?fieldManager=vfrail",
                        .content_type = kJson,
                        .body = value.text()});
}

Result<> ApiClient::remove(const ResourceType& type, const ObjectName& object, const std::string& uid) {
  Json options = Json::object();
  options.set("apiVersion", "v1");
  options.set("kind", "DeleteOptions");
  options.set("propagationPolicy", "Background");
  if (!uid.empty()) {
    Json preconditions = Json::object();
    preconditions.set("uid", uid);
    options.set("preconditions", std::move(preconditions));
  }
  const Request request{
      .method = "DELETE", .target = path_of(type, object), .content_type = kJson, .body = options.text()};
  const Answer answer = TRY(send(request));
  if (answer.ok() || answer.status == 404) return {};
  return refusal(request.title(), answer.status, answer.body);
}

Result<std::string> ApiClient::page(const std::string& path, size_t limit_bytes) {
  Request request{.target = path};
  request.limit = limit_bytes;
  Answer answer = TRY(send(request));
  if (!answer.ok()) return refusal(request.title(), answer.status, answer.body);
  return std::move(answer.body);
}

}  // namespace vfrail::kube

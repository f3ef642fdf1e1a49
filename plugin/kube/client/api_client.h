// ApiClient: reads and writes objects of the Kubernetes API: one request at a time over a connection that it
// keeps. Every call has a deadline and a limit. Belongs to one thread; another thread may ask it to stop.
// Knows no kind of object.
#pragma once

#include "common/json.h"
#include "common/result.h"
#include "plugin/kube/access/cluster_access.h"
#include "plugin/kube/client/resource_type.h"
#include "plugin/kube/client/watch_lines.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

namespace vfrail::kube {

class Connection;
class Credentials;
struct HttpHead;

struct Selectors {
  std::string labels = {};  // "app=vfrail"
  std::string fields = {};  // "spec.nodeName=node-1"
};

struct ApplyOptions {
  std::string manager = "vfrail";
  bool force = true;             // takes fields that others manage
  std::string subresource = {};  // "status"
};

// Counted, for tests and for `--verbose`.
struct ApiCounts {
  uint64_t connections = 0;
  uint64_t requests = 0;
  uint64_t bytes_received = 0;  // bodies
};

// Of an answer that is not a success: the Error's `sys` is the HTTP status, and its code
// 400, 405, 415, 422 invalid; 401, 403 denied; 404 not_found; 409 exists or busy (a conflict); 410 not_yet
// (list again); 429, 503 busy; other peer. Its text names verb, path, status and the server's message.
class ApiClient {
 public:
  // `stop` ends a call that is under way with Errc::not_yet.
  explicit ApiClient(ClusterAccess access, std::stop_token stop = {});
  ApiClient(ApiClient&&) noexcept;
  ApiClient& operator=(ApiClient&&) = delete;
  ~ApiClient();

  // No value: 404.
  Result<std::optional<Json>> get(const ResourceType& type, const ObjectName& object);
  // In pages (set_page()); begins again, once, if the server has forgotten the list in the middle
  // (410), for which `restart` is called. `each` may keep the object or what it needs of it. The value is the
  // resourceVersion of the list.
  Result<std::string> list(
      const ResourceType& type, const std::string& name_space, const Selectors& selectors,
      const std::function<void(Json&&)>& each, const std::function<void()>& restart = [] {});
  // Events after that resourceVersion until the server ends the watch, which it is asked to do after
  // `seconds`. `event` gets ADDED, MODIFIED, DELETED or BOOKMARK; Errc::not_yet with sys 410: list again.
  Result<> watch(const ResourceType& type, const std::string& name_space, const Selectors& selectors,
                 const std::string& version, uint32_t seconds,
                 const std::function<void(std::string_view type, Json&& object)>& event);
  // dry_run: all is done but that it is stored; the value is what would be.
  enum class Storage : uint8_t { stored, dry_run };
  Result<Json> create(const ResourceType& type, const std::string& name_space, const Json& object,
                      Storage storage = Storage::stored);
  // Server-side apply: makes the object, or changes the fields that are given.
  Result<Json> apply(const ResourceType& type, const ObjectName& object, const Json& fields,
                     const ApplyOptions& options = {});
  // With the resourceVersion in the object: Errc::busy if it has changed meanwhile.
  Result<Json> replace(const ResourceType& type, const ObjectName& object, const Json& value,
                       const std::string& subresource = {});
  // Done too if it is not there. With an uid only the object that has it (409 otherwise: Errc::busy).
  Result<> remove(const ResourceType& type, const ObjectName& object, const std::string& uid = {});
  // The body of any page below the API server, as it is: "/version", a pod's page by the proxy.
  Result<std::string> page(const std::string& path, size_t limit_bytes = 16 << 20);

  // How long a request may take, but for watches. 30 s.
  void set_patience(std::chrono::milliseconds patience) { patience_ = patience; }
  // How many objects of a list are asked for at a time. 100.
  void set_page(uint32_t objects) { page_ = objects; }
  const ApiCounts& counts() const { return counts_; }
  const ClusterAccess& access() const { return *access_; }

 private:
  struct Request;
  struct Answer;
  Result<Connection*> connection();
  Result<HttpHead> begin(const Request& request);
  // `cut`: whether the connection has ended before the body.
  Result<std::string> read_body(size_t limit, const std::string& title, bool* cut = nullptr);
  Result<Answer> send(const Request& request);
  Result<Json> send_for_json(const Request& request);
  Result<> read_events(std::chrono::milliseconds most, const WatchLines::Event& event);

  std::unique_ptr<const ClusterAccess> access_;  // where it stays: credentials_ refers to it
  std::stop_token stop_;
  std::chrono::milliseconds patience_{30'000};
  uint32_t page_ = 100;
  ApiCounts counts_;
  std::unique_ptr<Credentials> credentials_;
  std::unique_ptr<Connection> connection_;
  std::chrono::steady_clock::time_point connected_{};
};

}  // namespace vfrail::kube

// FakeCluster: an API server in this process that keeps objects: lists, watches, creates, applies, replaces,
// deletes, each with the versions and refusals of the real one. Checks no schema and no right.
#pragma once

#include "common/json.h"
#include "tests/kube/api_server.h"

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace vfrail::kube {

class FakeCluster {
 public:
  FakeCluster();
  ~FakeCluster();

  ClusterAccess access() const { return server_.access(); }
  ApiServer& server() { return server_; }
  // As a user does it with kubectl; `plural` is "nodes". The version is set.
  void put(const std::string& plural, Json object);
  void erase(const std::string& plural, const std::string& name);
  // "crater-workspace/hostdevice-net", or a name without a namespace.
  std::optional<Json> find(const std::string& plural, const std::string& name) const;
  std::vector<Json> all(const std::string& plural) const;
  size_t count(const std::string& plural) const;
  // What is answered to GET of that path.
  void page(const std::string& path, const std::string& text);
  // Whether the server has the kind, which is what a CRD decides.
  void serve_kind(const std::string& plural, bool served);
  // Answers requests that change one of that kind with this status; 0: no longer.
  void refuse_writes(const std::string& plural, unsigned status);
  // Answers lists and reads of that kind with this status.
  void refuse_reads(const std::string& plural, unsigned status);
  // Answers watches of that kind with this status, those that are begun from now on.
  void refuse_watches(const std::string& plural, unsigned status);
  // Answers lists and watches of which the query has this text with 400; empty: none.
  void refuse_queries(const std::string& text);
  // What the server does to each object that is written, also with dryRun, before it keeps it.
  void change_writes(std::function<void(Json&)> change);
  // "POST network-attachment-definitions", in order; without those of leases and those with dryRun.
  std::vector<std::string> writes() const;

 private:
  struct Target;
  struct Change {
    size_t version;
    std::string plural;
    std::string type;
    Json object;
  };

  static Target parse(const std::string& target);
  void serve(const ServedRequest& request, ServedAnswer& answer);
  void watch(const Target& target, ServedAnswer& answer);
  std::pair<unsigned, std::string> answer_read(const Target& target);
  std::pair<unsigned, std::string> answer_write(const ServedRequest& request, const Target& target);
  Json store(const std::string& plural, const std::string& name, Json object);
  void remove(const std::string& plural, const std::string& name);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool ends_ = false;
  size_t version_ = 100;
  std::map<std::string, std::map<std::string, Json>> objects_;
  std::vector<Change> changes_;
  std::set<std::string> unknown_;
  std::map<std::string, unsigned> refusals_;
  std::map<std::string, unsigned> read_refusals_;
  std::map<std::string, unsigned> watch_refusals_;
  std::map<std::string, std::string> pages_;
  std::string refused_query_;
  std::function<void(Json&)> change_;
  std::vector<std::string> writes_;
  ApiServer server_;
};

}  // namespace vfrail::kube

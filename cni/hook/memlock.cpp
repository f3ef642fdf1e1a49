#include "cni/hook/memlock.h"

#include "cni/hook/container_process.h"
#include "common/errors/error_id.h"
#include "common/files.h"
#include "common/json.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <limits>
#include <sys/resource.h>

namespace vfrail::cni {

namespace {

Result<LockedMemory> limit_of_bundle(const OciState& state) {
  const std::string path = state.bundle + "/config.json";
  const auto text = TRY(read_file(path, kMaxBundleConfig));
  if (!text) return Error{Errc::not_found, 0, path + " is not there"};
  const auto limit = TRY(parse_memory_limit(*text), path);
  if (limit) return *limit;
  return Error{Errc::unsupported, 0,
               container_text(state) +
                   " has no memory limit to take: give the container one, or memlock a number "
                   "of bytes"};
}

}  // namespace

Result<OciState> parse_oci_state(std::string_view text) {
  const Json json = TRY(Json::parse_object(text));
  ObjectReader reader(*json.as_object(), "");
  OciState out;
  out.id = TRY(reader.text("id")).value_or("");
  out.status = TRY(reader.text("status")).value_or("");
  out.pid = static_cast<pid_t>(TRY(reader.integer("pid", 0, std::numeric_limits<pid_t>::max())).value_or(0));
  out.bundle = TRY(reader.text("bundle")).value_or("");
  // Process 1 is the node's init, and a state without a process has none yet.
  if (out.pid <= 1) return reader.error("pid", "is missing, or names no process of a container");
  if (out.status != "creating" && out.status != "created")
    return reader.error("status", "is \"" + out.status + "\", and not creating or created");
  return out;
}

std::string LockedMemory::text() const { return unlimited ? "unlimited" : std::to_string(bytes) + " bytes"; }

Result<LockedMemory> parse_locked_memory(const std::string& text) {
  LockedMemory out;
  out.unlimited = text == "unlimited";
  if (out.unlimited) return out;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, out.bytes);
  if (error == std::errc() && at == end && out.bytes > 0) return out;
  return Error{Errc::invalid, 0, "\"" + text.substr(0, 60) + "\" is neither a number of bytes nor unlimited"};
}

Result<std::optional<LockedMemory>> parse_memory_limit(std::string_view config) {
  const Json json = TRY(Json::parse_object(config, kMaxBundleConfig));
  const Json* value = &json;
  for (const char* key : {"linux", "resources", "memory", "limit"}) {
    value = value->find(key);
    if (value == nullptr) return std::optional<LockedMemory>();
  }
  // -1 means no limit.
  if (value->as_int() == nullptr || *value->as_int() <= 0) return std::optional<LockedMemory>();
  return std::optional(LockedMemory{false, static_cast<uint64_t>(*value->as_int())});
}

Result<std::string> raise_lock_limit(const OciState& state, const std::optional<LockedMemory>& wanted) {
  const LockedMemory limit = wanted ? *wanted : TRY(limit_of_bundle(state));
  const rlim_t bytes = limit.unlimited ? RLIM_INFINITY : limit.bytes;
  const ContainerProcess process = TRY(ContainerProcess::find(state));
  rlimit now{};
  if (::prlimit(state.pid, RLIMIT_MEMLOCK, nullptr, &now) != 0)
    return Error::from_errno(errno, "read the limit of locked memory of " + container_text(state));
  if (now.rlim_cur >= bytes) return container_text(state) + " may lock that much already";
  const rlimit next{bytes, std::max(bytes, now.rlim_max)};
  if (::prlimit(state.pid, RLIMIT_MEMLOCK, &next, nullptr) != 0)
    return Error::from_errno(errno, "let " + container_text(state) + " lock " + limit.text());
  // Alive until here, it was the one.
  if (!process.is_alive())
    return Error{Errc::not_found, ESRCH, container_text(state) + " has ended meanwhile"};
  return container_text(state) + " may lock " + limit.text();
}

}  // namespace vfrail::cni

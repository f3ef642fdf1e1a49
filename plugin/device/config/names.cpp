#include "plugin/device/config/names.h"

#include "common/text.h"
#include "plugin/device/config/config.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <sys/un.h>

namespace vfrail::plugin {

namespace {

// IsQualifiedName() in k8s.io/apimachinery/pkg/util/validation: 63 for the name, 253 for the prefix. kubelet
// puts "requests." before the prefix when it validates (IsExtendedResourceName()).
constexpr size_t kMaxName = 63;
constexpr size_t kMaxPrefix = 253 - 9;
// The last byte of sun_path holds the terminating zero.
constexpr size_t kMaxSocketPath = sizeof(sockaddr_un::sun_path) - 1;

bool alphanumeric(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

Error invalid(std::string_view value, const std::string& what) {
  return Error{Errc::invalid, 0, "\"" + std::string(value.substr(0, 300)) + "\" " + what};
}

}  // namespace

Result<> check_resource_name(std::string_view name) {
  if (name.empty()) return invalid(name, "is empty; use letters, digits, '_' and '-'");
  const auto allowed = [](char c) { return alphanumeric(c) || c == '_' || c == '-'; };
  if (!std::all_of(name.begin(), name.end(), allowed)) {
    return invalid(name, "has a character that is not allowed; allowed are letters, digits, '_' and '-'");
  }
  if (!alphanumeric(name.front()) || !alphanumeric(name.back())) {
    return invalid(name, "must begin and end with a letter or a digit, kubelet refuses it otherwise");
  }
  if (name.size() > kMaxName) {
    return invalid(name, "has " + std::to_string(name.size()) + " characters, Kubernetes allows " +
                             std::to_string(kMaxName));
  }
  return {};
}

Result<> check_resource_prefix(std::string_view prefix) {
  bool good = prefix.size() <= kMaxPrefix;
  for (size_t start = 0; good && start <= prefix.size();) {
    const size_t dot = std::min(prefix.find('.', start), prefix.size());
    good = is_dns_label(prefix.substr(start, dot - start));
    start = dot + 1;
  }
  if (!good) {
    return invalid(prefix, "is not a DNS name in lower case (like nvidia.com), kubelet refuses it");
  }
  // IsPrefixedNativeResource() in k8s.io/kubernetes/pkg/apis/core/v1/helper looks for "kubernetes.io/"
  // anywhere in PREFIX/NAME.
  if (prefix.ends_with("kubernetes.io")) {
    return invalid(prefix, "ends as a prefix of Kubernetes itself (kubernetes.io), kubelet refuses it");
  }
  // DefaultResourceRequestsPrefix there.
  if (prefix.starts_with("requests.")) {
    return invalid(prefix, "begins as the name of a quota (requests.), kubelet refuses it");
  }
  return {};
}

std::string socket_name(const ResourceConfig& resource) {
  return resource.socket.empty() ? resource.prefix + "_" + resource.name + ".sock" : resource.socket;
}

// None of those with the same name keeps it: which socket a resource has does not depend on its place in the
// file. What it gets instead can be another's name, hence again.
void make_sockets_distinct(std::vector<ResourceConfig>& resources) {
  for (bool changed = true; changed;) {
    std::map<std::string, int> uses;
    for (const ResourceConfig& resource : resources) ++uses[socket_name(resource)];
    changed = false;
    for (ResourceConfig& resource : resources) {
      if (resource.socket.empty() || uses[resource.socket] == 1) continue;
      resource.socket.clear();
      changed = true;
    }
  }
}

std::string env_name(const ResourceConfig& resource) {
  std::string out = "PCIDEVICE_" + resource.prefix + "_" + resource.name;
  for (char& c : out) c = c == '.' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return out;
}

Result<> check_socket_path(const ResourceConfig& resource, std::string_view folder) {
  const std::string path = std::string(folder) + "/" + socket_name(resource);
  if (path.size() <= kMaxSocketPath) return {};
  return Error{Errc::invalid, 0,
               resource.resource() + ": its socket " + path + " has " + std::to_string(path.size()) +
                   " bytes, a unix socket's path can have " + std::to_string(kMaxSocketPath) +
                   "; a shorter resourceName or resourcePrefix is needed"};
}

}  // namespace vfrail::plugin

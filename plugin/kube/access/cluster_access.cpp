#include "plugin/kube/access/cluster_access.h"

#include "common/files.h"
#include "common/text.h"
#include "plugin/documents/yaml.h"
#include "plugin/kube/access/kubeconfig.h"

#include <cerrno>
#include <optional>

namespace vfrail::kube {

namespace {

// Those of a hundred clusters with their certificates have some hundred KiB.
constexpr size_t kMaxKubeconfigBytes = plugin::kMaxYamlBytes;

// No value: there is no such file.
Result<std::optional<KubeconfigFile>> read_one(const std::string& path) {
  const auto fd = open_for_reading(path);
  if (!fd && (fd.error().sys == ENOENT || fd.error().sys == ENOTDIR)) return std::optional<KubeconfigFile>();
  if (!fd) return fd.error();
  const std::string text = TRY(read_stream(fd->get(), kMaxKubeconfigBytes), path);
  auto documents = TRY(plugin::read_yaml(text), path);
  if (documents.empty() || documents.front().is_null()) return std::optional<KubeconfigFile>();
  if (documents.size() > 1 || documents.front().as_object() == nullptr)
    return Error{Errc::invalid, 0, path + ": not a kubeconfig, which is one object of YAML or JSON"};
  return std::optional(KubeconfigFile{path, std::move(documents.front())});
}

Result<std::vector<KubeconfigFile>> read_files(const std::vector<std::string>& paths) {
  std::vector<KubeconfigFile> out;
  for (const std::string& path : paths) {
    auto file = TRY(read_one(path));
    if (file) out.push_back(*std::move(file));
  }
  return out;
}

// kubectl would go by the proxy, so a connection that fails says that this one does not.
Result<ClusterAccess> access_by(const std::vector<KubeconfigFile>& files, const AccessOptions& options) {
  ClusterAccess out = TRY(read_kubeconfig(files, options.context));
  const bool has_proxy =
      !options.environment("HTTPS_PROXY").empty() || !options.environment("https_proxy").empty();
  if (has_proxy) out.source += " (directly: HTTPS_PROXY is not used)";
  return out;
}

}  // namespace

Result<ClusterAccess> access_in_pod(const AccessOptions& options) {
  ClusterAccess out;
  out.host = options.environment("KUBERNETES_SERVICE_HOST");
  const auto port = parse_decimal(options.environment("KUBERNETES_SERVICE_PORT"));
  if (out.host.empty() || !port || *port == 0 || *port > 65535)
    return Error{
        Errc::not_found, 0,
        "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set: this is not a pod of Kubernetes"};
  out.port = static_cast<uint16_t>(*port);
  out.verified_name = out.host;
  out.authority.file = options.service_account + "/ca.crt";
  out.token.file = options.service_account + "/token";
  out.source = "the service account of this pod";
  const auto fd = open_for_reading(options.service_account + "/namespace");
  if (fd) out.name_space = read_stream(fd->get(), 253).value_or("");
  if (out.name_space.empty()) out.name_space = "default";
  return out;
}

Result<ClusterAccess> find_cluster(const AccessOptions& options) {
  if (!options.kubeconfig.empty()) {
    const auto files = TRY(read_files({options.kubeconfig}));
    if (files.empty())
      return Error{Errc::not_found, ENOENT, options.kubeconfig + ": is empty, or there is no such file"};
    return access_by(files, options);
  }
  std::vector<std::string> paths = split(options.environment("KUBECONFIG"), ":");
  const std::string home = options.environment("HOME");
  if (paths.empty() && !home.empty()) paths.push_back(home + "/.kube/config");
  const auto files = TRY(read_files(paths));
  if (!files.empty()) return access_by(files, options);
  if (!options.environment("KUBERNETES_SERVICE_HOST").empty()) return access_in_pod(options);
  return Error{Errc::not_found, 0,
               "no kubeconfig (" + (paths.empty() ? "$KUBECONFIG and $HOME are not set" : joined(paths)) +
                   ") and no service account: name one by --kubeconfig"};
}

}  // namespace vfrail::kube

#include "plugin/kube/access/kubeconfig.h"

#include "common/base64.h"
#include "common/text.h"
#include "plugin/kube/access/fields.h"
#include "plugin/kube/access/server_url.h"

#include <optional>

namespace vfrail::kube {

namespace {

// An entry of one of the lists `clusters`, `users`, `contexts`: what is below its second key.
struct Entry {
  const Json::Object* value = nullptr;
  const KubeconfigFile* file = nullptr;
  std::string title;  // "user admin in /root/.kube/config"
};

std::string names_of(const std::vector<KubeconfigFile>& files) {
  std::vector<std::string> names;
  for (const KubeconfigFile& file : files) names.push_back(file.path);
  return joined(names);
}

Result<Entry> find_entry(const std::vector<KubeconfigFile>& files, std::string_view list,
                         std::string_view key, const std::string& name) {
  for (const KubeconfigFile& file : files) {
    const Json* entries = file.value.find(list);
    const Json::Array* all = entries == nullptr ? nullptr : entries->as_array();
    if (all == nullptr) continue;
    for (const Json& entry : *all) {
      if (text_at(entry, {"name"}) != name) continue;
      const Json* value = entry.find(key);
      std::string title = std::string(key) + " " + name + " in " + file.path;
      if (value == nullptr || value->as_object() == nullptr)
        return Error{Errc::invalid, 0, title + ": " + std::string(key) + " is missing"};
      return Entry{value->as_object(), &file, std::move(title)};
    }
  }
  return Error{Errc::not_found, 0,
               "no " + std::string(key) + " \"" + name + "\" in " + names_of(files) +
                   "; `kubectl config get-contexts` lists what there is"};
}

std::string in_folder_of(const std::string& file, std::string path) {
  if (path.empty() || path.front() == '/') return path;
  const size_t slash = file.rfind('/');
  return slash == std::string::npos ? path : file.substr(0, slash + 1) + path;
}

// "certificate-authority" and "certificate-authority-data", of which the data counts, as for kubectl.
Result<Material> read_material(ObjectReader& reader, const std::string& file, const std::string& key) {
  const auto data = TRY(reader.text(key + "-data"));
  if (data && !data->empty()) {
    auto text = decode_base64(*data);
    if (!text) return reader.error(key + "-data", "must be base64");
    return Material{{}, *std::move(text)};
  }
  Material out;
  out.file = in_folder_of(file, TRY(reader.text(key)).value_or(""));
  return out;
}

Result<> read_cluster(const Entry& entry, ClusterAccess& out) {
  ObjectReader reader(*entry.value, "");
  const std::string server = TRY(reader.text("server")).value_or("");
  if (server.empty()) return reader.error("server", "missing; it is the URL of the API server");
  const ServerUrl url = TRY(parse_server_url(server), "server");
  out.host = url.host;
  out.port = url.port;
  out.path = url.path;
  if (TRY(reader.boolean("insecure-skip-tls-verify")).value_or(false))
    return Error{
        Errc::unsupported, 0,
        "insecure-skip-tls-verify: a server whose certificate is not verified can be anybody, who gets "
        "the token; give its CA as certificate-authority"};
  if (!TRY(reader.text("proxy-url")).value_or("").empty())
    return Error{Errc::unsupported, 0, "proxy-url: proxies are not supported; reach the API server directly"};
  out.verified_name = TRY(reader.text("tls-server-name")).value_or(out.host);
  if (out.verified_name.empty()) out.verified_name = out.host;
  out.authority = TRY(read_material(reader, entry.file->path, "certificate-authority"));
  return {};
}

Result<ExecPlugin> read_exec(const Json::Object& value, const std::string& file) {
  ObjectReader reader(value, "exec");
  ExecPlugin out;
  out.api_version = TRY(reader.text("apiVersion")).value_or("");
  out.command = TRY(reader.text("command")).value_or("");
  if (out.command.empty()) return reader.error("command", "missing");
  // Relative with a slash: to the folder of the file. Without one: in $PATH.
  if (out.command.find('/') != std::string::npos) out.command = in_folder_of(file, out.command);
  out.arguments = TRY(reader.texts("args")).value_or(std::vector<std::string>());
  out.install_hint = TRY(reader.text("installHint")).value_or("");
  out.provide_cluster_info = TRY(reader.boolean("provideClusterInfo")).value_or(false);
  const Json::Array* variables = TRY(reader.array("env"));
  if (variables == nullptr) return out;
  for (const Json& variable : *variables)
    out.environment.emplace_back(text_at(variable, {"name"}), text_at(variable, {"value"}));
  return out;
}

Result<> read_user(const Entry& entry, ClusterAccess& out) {
  ObjectReader reader(*entry.value, "");
  const std::string& file = entry.file->path;
  out.certificate = TRY(read_material(reader, file, "client-certificate"));
  out.key = TRY(read_material(reader, file, "client-key"));
  if (out.certificate.is_given() != out.key.is_given())
    return Error{Errc::invalid, 0, "client-certificate and client-key go together, and one is missing"};
  out.token.text = TRY(reader.text("token")).value_or("");
  if (out.token.text.empty()) out.token.file = in_folder_of(file, TRY(reader.text("tokenFile")).value_or(""));
  const Json::Object* exec = TRY(reader.object("exec"));
  if (exec != nullptr) out.exec = TRY(read_exec(*exec, file));
  for (const char* key : {"username", "password", "auth-provider", "as"}) {
    if (reader.value(key) != nullptr)
      return Error{Errc::unsupported, 0,
                   std::string(key) + ": not supported; use a token, a client certificate or an exec plugin"};
  }
  return {};
}

}  // namespace

Result<ClusterAccess> read_kubeconfig(const std::vector<KubeconfigFile>& files, const std::string& context) {
  std::string wanted = context;
  for (const KubeconfigFile& file : files) {
    if (wanted.empty()) wanted = text_at(file.value, {"current-context"});
  }
  if (wanted.empty())
    return Error{
        Errc::not_found, 0,
        names_of(files) + ": no current-context; choose one by `kubectl config use-context` or --context"};
  const Entry entry = TRY(find_entry(files, "contexts", "context", wanted));
  ObjectReader reader(*entry.value, "");
  const std::string cluster = TRY(reader.text("cluster"), entry.title).value_or("");
  const std::string user = TRY(reader.text("user"), entry.title).value_or("");
  ClusterAccess out;
  out.name_space = TRY(reader.text("namespace"), entry.title).value_or("default");
  out.source = "kubeconfig " + entry.file->path + ", context " + wanted;
  const Entry there = TRY(find_entry(files, "clusters", "cluster", cluster), entry.title);
  TRY(read_cluster(there, out), there.title);
  if (user.empty()) return out;
  const Entry who = TRY(find_entry(files, "users", "user", user), entry.title);
  TRY(read_user(who, out), who.title);
  return out;
}

}  // namespace vfrail::kube

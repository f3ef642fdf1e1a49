// plugin/kube/access/cluster_access.h: where the API server is, and who asks.
#include "common/files.h"
#include "plugin/kube/access/cluster_access.h"
#include "plugin/kube/access/server_url.h"
#include "tests/support/temp_dir.h"

#include <map>

#include <catch2/catch.hpp>

namespace vfrail::kube {

namespace {

using test::TempDir;
using test::write_tree;

constexpr const char* kConfig = R"(apiVersion: v1
kind: Config
current-context: admin
contexts:
- name: admin
  context: {cluster: one, user: root, namespace: training}
- name: other
  context: {cluster: two, user: nobody}
clusters:
- name: one
  cluster: {server: "https://10.0.0.1:6443", certificate-authority: ca.crt}
- name: two
  cluster: {server: "https://[fd00::1]/k8s/clusters/c-1/", tls-server-name: kubernetes, certificate-authority-data: Q0E=}
users:
- name: root
  user: {client-certificate-data: Q0VSVA==, client-key-data: S0VZ}
- name: nobody
  user: {tokenFile: /run/token}
)";

// With the environment of a test, and no service account.
Result<ClusterAccess> find(std::map<std::string, std::string> environment, AccessOptions options = {}) {
  options.environment = [environment](const char* name) {
    const auto there = environment.find(name);
    return there == environment.end() ? std::string() : there->second;
  };
  return find_cluster(options);
}

std::string write(const TempDir& folder, const std::string& name, const std::string& text) {
  REQUIRE(write_file(folder.path(name), text, 0600, Durability::renamed));
  return folder.path(name);
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("The current context of a kubeconfig says which cluster and which user") {
  const TempDir folder;
  const auto access = find({}, {.kubeconfig = write(folder, "config", kConfig)});
  REQUIRE(access);
  CHECK(access->host == "10.0.0.1");
  CHECK(access->port == 6443);
  CHECK(access->verified_name == "10.0.0.1");
  CHECK(access->authority.file == folder.path("ca.crt"));  // relative to the file
  CHECK(access->certificate.text == "CERT");
  CHECK(access->key.text == "KEY");
  CHECK(access->name_space == "training");
}

TEST_CASE("With a proxy in the environment, which kubectl would use, the source says that it is not used") {
  const TempDir folder;
  const std::string file = write(folder, "config", kConfig);
  for (const char* name : {"HTTPS_PROXY", "https_proxy"}) {
    for (const auto& access : {find({{name, "http://proxy:3128"}}, {.kubeconfig = file}),
                               find({{name, "http://proxy:3128"}, {"KUBECONFIG", file}})}) {
      REQUIRE(access);
      CHECK_THAT(access->source, Catch::Contains("directly: HTTPS_PROXY is not used"));
      CHECK(access->host == "10.0.0.1");
    }
  }
  CHECK_THAT(find({}, {.kubeconfig = file})->source, !Catch::Contains("PROXY"));
}

TEST_CASE("Another context is taken by its name, with the path and the name of its server") {
  const TempDir folder;
  const auto access = find({}, {.kubeconfig = write(folder, "config", kConfig), .context = "other"});
  REQUIRE(access);
  CHECK(access->host == "fd00::1");
  CHECK(access->port == 443);
  CHECK(access->path == "/k8s/clusters/c-1");
  CHECK(access->verified_name == "kubernetes");
  CHECK(access->authority.text == "CA");
  CHECK(access->token.file == "/run/token");
  CHECK(access->name_space == "default");
}

TEST_CASE(
    "Of several files in KUBECONFIG the first that has a name counts, and one that is missing is left out") {
  const TempDir folder;
  const std::string first = write(
      folder, "a", "contexts: [{name: mine, context: {cluster: two, user: root}}]\ncurrent-context: mine\n");
  const std::string second = write(folder, "b", kConfig);
  const auto access = find({{"KUBECONFIG", folder.path("missing") + ":" + first + ":" + second}});
  REQUIRE(access);
  CHECK(access->host == "fd00::1");
  CHECK(access->certificate.text == "CERT");
}

TEST_CASE("Without KUBECONFIG it is the one in the folder of the user, then the service account of the pod") {
  const TempDir folder;
  write_tree(folder.path(), ".kube/\n");
  write(folder, ".kube/config", kConfig);
  CHECK(find({{"HOME", folder.path()}})->host == "10.0.0.1");
  const TempDir pod;
  write(pod, "namespace", "vfrail-system");
  const auto access =
      find({{"HOME", "/nowhere"}, {"KUBERNETES_SERVICE_HOST", "fd00::2"}, {"KUBERNETES_SERVICE_PORT", "443"}},
           {.service_account = pod.path()});
  REQUIRE(access);
  CHECK(access->host == "fd00::2");
  CHECK(access->name_space == "vfrail-system");
  CHECK(access->token.file == pod.path("token"));
}

TEST_CASE("Without a kubeconfig and outside a pod the error names where it was searched") {
  const auto access = find({{"HOME", "/nowhere"}});
  REQUIRE(!access);
  CHECK(access.error().code == Errc::not_found);
  CHECK_THAT(access.error().text,
             Catch::Contains("/nowhere/.kube/config") && Catch::Contains("--kubeconfig"));
}

TEST_CASE("What a kubeconfig has wrong is named with its file") {
  const TempDir folder;
  const auto fails = [&](const std::string& text, const std::string& context = {}) {
    const auto access = find({}, {.kubeconfig = write(folder, "config", text), .context = context});
    REQUIRE(!access);
    return access.error().text;
  };
  CHECK_THAT(fails(kConfig, "absent"), Catch::Contains("no context \"absent\" in " + folder.path("config")));
  CHECK_THAT(fails(replaced(kConfig, "cluster: one,", "cluster: three,")),
             Catch::Contains("no cluster \"three\""));
  CHECK_THAT(fails(replaced(kConfig, "https://10.0.0.1:6443", "http://10.0.0.1:6443")),
             Catch::Contains("without TLS"));
  CHECK_THAT(fails(replaced(kConfig, "certificate-authority: ca.crt", "insecure-skip-tls-verify: true")),
             Catch::Contains("insecure-skip-tls-verify") && Catch::Contains("certificate-authority"));
  CHECK_THAT(fails(replaced(kConfig, "certificate-authority: ca.crt", "proxy-url: http://p")),
             Catch::Contains("proxy-url"));
  CHECK_THAT(fails(replaced(kConfig, ", client-key-data: S0VZ", "")), Catch::Contains("go together"));
  CHECK_THAT(fails(replaced(kConfig, "Q0VSVA==", "Q0VS*A==")), Catch::Contains("must be base64"));
  CHECK_THAT(fails(replaced(kConfig, "client-certificate-data: Q0VSVA==, client-key-data: S0VZ",
                            "username: a, password: b")),
             Catch::Contains("username: not supported"));
  CHECK_THAT(fails(replaced(kConfig, "client-key-data: S0VZ", "client-key-data: S0VZ, as: admin")),
             Catch::Contains("as: not supported"));
  CHECK_THAT(fails("[1, 2]"), Catch::Contains("not a kubeconfig"));
  CHECK_THAT(fails("current-context: {\n"), Catch::Contains(folder.path("config")));
}

TEST_CASE("The URL of an API server has a host, and perhaps a port and a path") {
  CHECK(parse_server_url("https://api.example")->port == 443);
  CHECK(parse_server_url("https://[fd00::1]:6443")->host == "fd00::1");
  CHECK(parse_server_url("https://r.example/k8s/clusters/c-1")->path == "/k8s/clusters/c-1");
  for (const char* text :
       {"", "10.0.0.1:6443", "https://", "https://[fd00::1", "https://a:0", "https://a:65536",
        "https://a:6443x", "https://user@a", "https://a b", "https://a/x y", "https://a/?b"}) {
    INFO(text);
    CHECK(!parse_server_url(text));
  }
}

}  // namespace vfrail::kube

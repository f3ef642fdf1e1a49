// plugin/kube/access/exec_plugin.h: credential plugins of kubeconfigs, with scripts in their place.
#include "plugin/kube/access/exec_plugin.h"

#include "common/files.h"
#include "plugin/kube/client/credentials.h"
#include "tests/support/temp_dir.h"

#include <sys/stat.h>

#include <catch2/catch.hpp>

namespace vfrail::kube {

namespace {

constexpr const char* kVersion = "client.authentication.k8s.io/v1";

class Plugin {
 public:
  explicit Plugin(const std::string& script) {
    const std::string path = folder_.path("plugin");
    REQUIRE(write_file(path, "#!/bin/sh\n" + script, 0700, Durability::renamed));
    access_.host = "10.0.0.1";
    access_.source = "a test";
    access_.exec.api_version = kVersion;
    access_.exec.command = path;
  }
  ClusterAccess& access() { return access_; }
  std::string path(const char* name) const { return folder_.path(name); }
  Result<ExecCredential> run() const { return run_exec_plugin(access_.exec, access_); }

 private:
  test::TempDir folder_{test::TempDir::On::disk};
  ClusterAccess access_;
};

std::string credential(const std::string& status) {
  return R"(echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":)" +
         status + "}'\n";
}

}  // namespace

TEST_CASE("A credential plugin gives a token, with its arguments, its variables and the cluster") {
  Plugin plugin(
      R"(echo "{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\",\"status\":{\"token\":\"$1-$REGION\"}}"
echo "$KUBERNETES_EXEC_INFO" > )"
      "\"$0.info\"\n");
  plugin.access().exec.arguments = {"get-token"};
  plugin.access().exec.environment = {{"REGION", "eu"}};
  plugin.access().exec.provide_cluster_info = true;
  const auto made = plugin.run();
  REQUIRE(made);
  CHECK(made->token == "get-token-eu");
  const auto info = read_file(plugin.path("plugin.info"), 1 << 16);
  CHECK_THAT(**info,
             Catch::Contains(R"("server":"https://10.0.0.1:443")") && Catch::Contains("ExecCredential"));
}

TEST_CASE("A plugin is run again before the end of its token, and after a refusal") {
  Plugin plugin("echo x >> \"$0.runs\"\n" +
                credential(R"({"token":"t","expirationTimestamp":"2000-01-01T00:00:00Z"})"));
  const auto runs = [&] { return (**read_file(plugin.path("plugin.runs"), 1 << 16)).size() / 2; };
  Credentials ended(plugin.access());
  CHECK(*ended.token(Credentials::Clock::now()) == "t");
  CHECK(*ended.token(Credentials::Clock::now()) == "t");
  CHECK(runs() == 2);
  Plugin lasting("echo x >> \"$0.runs\"\n" +
                 credential(R"({"token":"t","expirationTimestamp":"2999-01-01T00:00:00Z"})"));
  Credentials kept(lasting.access());
  CHECK(*kept.token(Credentials::Clock::now()) == "t");
  CHECK(*kept.token(Credentials::Clock::now()) == "t");
  kept.refused();
  CHECK(*kept.token(Credentials::Clock::now()) == "t");
  CHECK((**read_file(lasting.path("plugin.runs"), 1 << 16)).size() / 2 == 2);
}

TEST_CASE("A plugin that is missing, fails, or prints something else is named") {
  const auto fails = [](const std::string& script) {
    const auto made = Plugin(script).run();
    REQUIRE(!made);
    return made.error().text;
  };
  CHECK_THAT(fails("exit 3\n"), Catch::Contains("ended with an error"));
  CHECK_THAT(fails("echo no\n"), Catch::Contains("credential plugin"));
  CHECK_THAT(fails(credential("{}")), Catch::Contains("status.token"));
  CHECK_THAT(fails(credential(R"({"token":"t","expirationTimestamp":"soon"})")), Catch::Contains("RFC 3339"));
  CHECK_THAT(
      fails("echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"v0\",\"status\":{\"token\":\"t\"}}'\n"),
      Catch::Contains("where the kubeconfig has"));
  CHECK_THAT(fails("head -c 3000000 /dev/zero\n"), Catch::Contains("more than 1 MiB"));
  Plugin missing("");
  missing.access().exec.command = missing.path("absent");
  missing.access().exec.install_hint = "install it from here";
  CHECK_THAT(missing.run().error().text,
             Catch::Contains("ENOENT") && Catch::Contains("install it from here"));
}

}  // namespace vfrail::kube

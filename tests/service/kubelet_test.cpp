#include "plugin/service/kubelet/kubelet.h"

#include "plugin/device/config/config.h"
#include "tests/service/support.h"
#include "tests/support/deadline.h"

#include <filesystem>
#include <fstream>
#include <future>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <catch2/catch.hpp>

namespace vfrail::test {
using namespace plugin;

namespace fs = std::filesystem;

namespace {

bool readable(const FolderWatch& watch) {
  pollfd fd{watch.fd(), POLLIN, 0};
  return ::poll(&fd, 1, static_cast<int>(kDeadline.count())) == 1;
}

// What a Register call to `socket` comes back with.
Result<> register_at(const std::string& socket, std::chrono::milliseconds timeout) {
  std::promise<Result<>> answer;
  const RegisterCall call({.kubelet_socket = socket,
                           .endpoint = "/var/lib/kubelet/device-plugins/a_b.sock",
                           .resource = "a/b",
                           .timeout = timeout},
                          [&](Result<> result) { answer.set_value(std::move(result)); });
  return answer.get_future().get();
}

}  // namespace

TEST_CASE("the plugin watcher is chosen where its folder exists") {
  const TempDir root;
  CHECK(*choose_registration(root.path(), "auto") == Registration::legacy);
  fs::create_directory(root.path("plugins_registry"));
  CHECK(*choose_registration(root.path(), "auto") == Registration::watcher);
  CHECK(*choose_registration(root.path(), "legacy") == Registration::legacy);
  CHECK(*choose_registration("/nowhere", "watcher") == Registration::watcher);
  CHECK(choose_registration(root.path(), "both").error().text ==
        "--registration: 'both' is not one of auto, watcher, legacy");
}

TEST_CASE("a socket is named after its resource, and a path too long for the kernel is refused") {
  const std::string folder = socket_folder("/var/lib/kubelet", Registration::watcher);
  const auto socket_path_of = [&](const std::string& prefix, const std::string& name) {
    ResourceConfig resource;
    resource.prefix = prefix;
    resource.name = name;
    return socket_path(folder, resource);
  };
  CHECK(*socket_path_of("intel.com", "sriov_net_A") ==
        "/var/lib/kubelet/plugins_registry/intel.com_sriov_net_A.sock");
  const std::string longest(107 - folder.size() - std::string("/a_.sock").size(), 'x');
  CHECK(socket_path_of("a", longest)->size() == 107);
  const auto refused = socket_path_of("a", longest + "x");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::invalid);
  CHECK(refused.error().text.find("108 bytes") != std::string::npos);
}

TEST_CASE("the temporary name of a socket fits wherever the socket fits, and kubelet ignores it") {
  const std::string name = hidden_socket_name();
  CHECK(name.size() <= std::string("a.sock").size());
  CHECK(name[0] == '.');
  CHECK(name != hidden_socket_name());
}

TEST_CASE("a folder watch reports changes, even when the folder was created again") {
  const TempDir root;
  const std::string folder = root.path("device-plugins");
  fs::create_directory(folder);
  auto watch = FolderWatch::start(folder);
  REQUIRE(watch);
  std::ofstream(folder + "/kubelet.sock") << "";
  REQUIRE(readable(*watch));
  watch->renew();
  fs::remove_all(folder);
  REQUIRE(readable(*watch));
  watch->renew();
  fs::create_directory(folder);
  REQUIRE(readable(*watch));
  watch->renew();
  std::ofstream(folder + "/kubelet.sock") << "";
  CHECK(readable(*watch));
}

TEST_CASE("a file that was created again at the same path is a different one") {
  const TempDir root;
  const std::string path = root.path("kubelet.sock");
  CHECK_FALSE(identify(path).exists());
  std::ofstream(path) << "";
  const FileIdentity before = identify(path);
  CHECK(before.exists());
  CHECK(identify(path) == before);
  std::ofstream(root.path("other")) << "";
  fs::rename(root.path("other"), path);
  CHECK_FALSE(identify(path) == before);
}

TEST_CASE("a Register call without a listener fails at once, with the reason") {
  const TempDir root;
  const auto answer = register_at(root.path("kubelet.sock"), kDeadline);
  REQUIRE_FALSE(answer);
  CHECK(answer.error().code == Errc::peer);
  CHECK(answer.error().text.find("No such file or directory") != std::string::npos);
}

TEST_CASE("a cancelled Register call ends at once") {
  const TempDir root;
  // A socket that accepts and never answers: a listener without an accept(2).
  const UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  root.path("kubelet.sock").copy(address.sun_path, sizeof address.sun_path - 1);
  REQUIRE(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  REQUIRE(::listen(listener.get(), 1) == 0);
  SECTION("by its owner") {
    int answers = 0;
    {
      const RegisterCall call({.kubelet_socket = root.path("kubelet.sock"),
                               .endpoint = "/e.sock",
                               .resource = "a/b",
                               .timeout = kForEver},
                              [&](const Result<>& answer) { answers += answer ? 0 : 1; });
    }
    CHECK(answers == 1);
  }
  SECTION("by its deadline") {
    const auto answer = register_at(root.path("kubelet.sock"), std::chrono::milliseconds{100});
    REQUIRE_FALSE(answer);
    CHECK(answer.error().code == Errc::timeout);
  }
}

}  // namespace vfrail::test

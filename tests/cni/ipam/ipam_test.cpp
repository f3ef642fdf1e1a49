// cni/ipam/ipam.h: plugins that behave, and plugins that do not.
#include "cni/ipam/ipam.h"

#include "tests/support/deadline.h"
#include "tests/support/temp_dir.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

using namespace vfrail::cni;

namespace vfrail {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

std::string read(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

// A folder with one IPAM plugin, a shell script, and a request that finds it.
struct Ipam {
  test::TempDir dir;
  Request request;

  explicit Ipam(const std::string& script) {
    std::signal(SIGPIPE, SIG_IGN);  // as main() does
    install(dir.path("ipam"), script);
    request.command = Command::add;
    request.container_id = "abc";
    request.netns = "/run/netns/x";
    request.ifname = "net1";
    request.raw_args = "A=1";
    request.path = {dir.path()};
    request.raw_path = dir.path();
    request.config = std::string(R"({"name":"rail0"})");
  }
  static void install(const std::string& path, const std::string& script) {
    std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
    REQUIRE(::chmod(path.c_str(), 0755) == 0);
  }
  Result<std::optional<Json>> run(Command command = Command::add,
                                  milliseconds timeout = test::kDeadline) const {
    return run_ipam(request, command, "ipam", timeout);
  }
};

}  // namespace

TEST_CASE("The output of an IPAM plugin is read as JSON") {
  const Ipam ipam(R"(echo '{"ips":[{"address":"10.0.0.5/24"}]}')");
  const auto answer = ipam.run();
  REQUIRE((answer && *answer));
  CHECK((*answer)->text() == R"({"ips":[{"address":"10.0.0.5/24"}]})");
}

TEST_CASE(
    "An IPAM plugin gets the verb, the request, the same configuration, and no CNI variable of another "
    "plugin") {
  const Ipam ipam("cd $(dirname $0); env | grep ^CNI_ | sort > env; cat > stdin");
  ::setenv("CNI_LEFT_OVER", "x", 1);
  ::setenv("CNI_NETNS_OVERRIDE", "true", 1);
  const auto answer = ipam.run(Command::del);
  ::unsetenv("CNI_LEFT_OVER");
  ::unsetenv("CNI_NETNS_OVERRIDE");
  REQUIRE(answer);
  CHECK_FALSE(answer->has_value());
  CHECK(read(ipam.dir.path("env")) ==
        "CNI_ARGS=A=1\nCNI_COMMAND=DEL\nCNI_CONTAINERID=abc\nCNI_IFNAME=net1\n"
        "CNI_NETNS=/run/netns/x\nCNI_NETNS_OVERRIDE=true\nCNI_PATH=" +
            ipam.dir.path() + "\n");
  CHECK(read(ipam.dir.path("stdin")) == ipam.request.config.text());
}

TEST_CASE("The error of an IPAM plugin keeps its code and text") {
  const Ipam ipam(R"(echo '{"code":11,"msg":"no free address","details":"range is full"}'; exit 1)");
  const auto answer = ipam.run();
  REQUIRE_FALSE(answer);
  CHECK(answer.error().code == Errc::peer);
  CHECK(answer.error().sys == 11);
  CHECK(answer.error().text == "IPAM plugin ipam, ADD: no free address; range is full");
}

TEST_CASE("A failure without JSON is reported with the exit status and the output") {
  const Ipam ipam("echo oops; exit 3");
  CHECK(ipam.run().error().text == "IPAM plugin ipam, ADD: exit status 3: oops\n");
  const Ipam silent("exit 3");
  CHECK(silent.run().error().text == "IPAM plugin ipam, ADD: exit status 3, no message");
}

TEST_CASE("An IPAM plugin that is killed by a signal has failed") {
  const Ipam ipam("kill -9 $$");
  const auto answer = ipam.run();
  REQUIRE_FALSE(answer);
  CHECK(answer.error().code == Errc::peer);
  CHECK(answer.error().text.find("signal 9") != std::string::npos);
}

TEST_CASE("Invalid output with exit status 0 is an error") {
  const Ipam ipam("echo 'not JSON'");
  const auto answer = ipam.run();
  REQUIRE_FALSE(answer);
  CHECK(answer.error().code == Errc::protocol);
}

TEST_CASE("No output, or white space only, is an empty result") {
  CHECK_FALSE(Ipam("true").run()->has_value());
  CHECK_FALSE(Ipam("echo").run()->has_value());
}

TEST_CASE("An IPAM plugin that prints 2 MiB is stopped") {
  const Ipam ipam("head -c 2097152 /dev/zero; echo $? > $(dirname $0)/finished");
  const auto answer = ipam.run();
  REQUIRE_FALSE(answer);
  CHECK(answer.error().code == Errc::protocol);
  CHECK(answer.error().text.find("1 MiB") != std::string::npos);
  CHECK(read(ipam.dir.path("finished")).empty());
}

TEST_CASE("An IPAM plugin that prints without end is killed") {
  const Ipam ipam("echo $$ > $(dirname $0)/pid; exec yes 0123456789");
  const auto answer = ipam.run();
  REQUIRE_FALSE(answer);
  CHECK(answer.error().code == Errc::protocol);
  CHECK(answer.error().text.size() < 300);
  CHECK(::kill(std::stoi(read(ipam.dir.path("pid"))), 0) == -1);
}

TEST_CASE("An IPAM plugin that keeps printing a little does not extend the deadline") {
  const Ipam ipam("while sleep 0.02; do printf ' '; done");
  const auto answer = ipam.run(Command::add, milliseconds{300});
  REQUIRE_FALSE(answer);
  CHECK(answer.error().code == Errc::timeout);
}

TEST_CASE("A result or an error that is nested a hundred thousand deep is refused") {
  const std::string deep = "head -c 100000 /dev/zero | tr '\\0' '['";
  const auto answer = Ipam(deep).run();
  REQUIRE_FALSE(answer);
  CHECK(answer.error().code == Errc::protocol);
  CHECK(answer.error().text.find("levels of nesting") != std::string::npos);
  const auto refusal = Ipam(deep + "; exit 1").run();
  REQUIRE_FALSE(refusal);
  CHECK(refusal.error().code == Errc::peer);
  CHECK(refusal.error().text.size() < 600);
}

TEST_CASE("An invalid code in an IPAM plugin's error is dropped") {
  const char* code = GENERATE("4294967307", "-1", "\"11\"", "1.5", "65536");
  const auto answer = Ipam(std::string("echo '{\"code\":") + code + ",\"msg\":\"no\"}'; exit 1").run();
  REQUIRE_FALSE(answer);
  CHECK(answer.error().sys == 0);
  CHECK(answer.error().text == "IPAM plugin ipam, ADD: no");
}

TEST_CASE("Long output of an IPAM plugin is shortened in the error") {
  const Ipam ipam("printf '{\"msg\":\"'; head -c 900000 /dev/zero | tr '\\0' x; printf '\"}'; exit 1");
  const auto answer = ipam.run();
  REQUIRE_FALSE(answer);
  CHECK(answer.error().code == Errc::peer);
  CHECK(answer.error().text.size() < 5000);
}

TEST_CASE("An IPAM plugin that hangs is killed at the deadline, with its children") {
  const Ipam ipam("echo $$ > $(dirname $0)/pid; sleep 3600 & wait");
  // On a busy machine the shell may be killed before it has written its number.
  for (milliseconds limit{200}; read(ipam.dir.path("pid")).empty() && limit < test::kDeadline; limit *= 4) {
    const auto answer = ipam.run(Command::add, limit);
    REQUIRE_FALSE(answer);
    CHECK(answer.error().code == Errc::timeout);
  }
  const pid_t group = std::stoi(read(ipam.dir.path("pid")));
  // The orphan was killed, too; it may take init a moment to reap it.
  const auto deadline = Clock::now() + test::kDeadline;
  const auto runs = [&] {
    return read("/proc/" + std::to_string(group) + "/stat").find(" S ") != std::string::npos;
  };
  while (runs() && Clock::now() < deadline) ::usleep(1000);
  CHECK_FALSE(runs());
}

TEST_CASE("An IPAM plugin that closes its output but does not exit is killed at the deadline") {
  const Ipam ipam("echo '{}'; exec >&- ; exec sleep 3600");
  const auto answer = ipam.run(Command::add, milliseconds{200});
  REQUIRE_FALSE(answer);
  CHECK(answer.error().code == Errc::timeout);
}

TEST_CASE("An IPAM plugin need not read a configuration that does not fit into the pipe") {
  Ipam ipam("exec <&-; echo '{}'");
  ipam.request.config = std::string(500'000, ' ');
  CHECK(ipam.run());
}

TEST_CASE("A configuration larger than the pipe is written while the output is read") {
  Ipam ipam("cat");
  ipam.request.config = "[\"" + std::string(500'000, 'x') + "\"]";
  const auto answer = ipam.run();
  REQUIRE((answer && *answer));
  CHECK((*answer)->text() == ipam.request.config.text());
}

TEST_CASE("An IPAM plugin starts with the default signal handling") {
  std::signal(SIGTERM, SIG_IGN);
  const Ipam ipam("kill -TERM $$; echo '{}'");
  const auto answer = ipam.run();
  std::signal(SIGTERM, SIG_DFL);
  REQUIRE_FALSE(answer);
  CHECK(answer.error().text.find("signal 15") != std::string::npos);
}

TEST_CASE("A plugin is found in the second folder when the first has no executable one") {
  Ipam ipam("echo '{}'");
  const test::TempDir first;
  ipam.request.path = {first.path(), ipam.dir.path()};
  CHECK(*find_plugin("ipam", ipam.request.path) == ipam.dir.path("ipam"));
  std::ofstream(first.path("ipam")) << "no executable";
  CHECK(*find_plugin("ipam", ipam.request.path) == ipam.dir.path("ipam"));
  Ipam::install(first.path("ipam"), "exit 1");
  CHECK(*find_plugin("ipam", ipam.request.path) == first.path("ipam"));
}

TEST_CASE("A plugin that is not installed is an error with the folders that were searched") {
  const auto found = find_plugin("whereabouts", {"/a", "/b"});
  REQUIRE_FALSE(found);
  CHECK(found.error().code == Errc::not_found);
  CHECK(found.error().text.find("whereabouts is not in CNI_PATH (/a, /b)") != std::string::npos);
  CHECK(find_plugin("x", {}).error().text.find("which is empty") != std::string::npos);
}

TEST_CASE("This program is never run as an IPAM plugin, under whatever name") {
  Ipam ipam("exit 0");
  ::unlink(ipam.dir.path("ipam").c_str());
  const std::string program = std::filesystem::read_symlink("/proc/self/exe");
  SECTION("a symbolic link") { REQUIRE(::symlink(program.c_str(), ipam.dir.path("ipam").c_str()) == 0); }
  SECTION("its own name") {
    ipam.request.path = {program.substr(0, program.rfind('/'))};
    const auto found = find_plugin(program.substr(program.rfind('/') + 1), ipam.request.path);
    REQUIRE_FALSE(found);
    CHECK(found.error().code == Errc::invalid);
    return;
  }
  const auto answer = ipam.run();
  REQUIRE_FALSE(answer);
  CHECK(answer.error().code == Errc::invalid);
  CHECK(answer.error().text.find("is vfrail itself") != std::string::npos);
}

TEST_CASE("An IPAM plugin that has exited is not waited for, even if a child keeps its output open") {
  const Ipam ipam("setsid sleep 1000 & echo $! > $(dirname $0)/pid; echo '{\"ips\":[]}'");
  const auto answer = ipam.run(Command::del, milliseconds{60'000});
  REQUIRE(answer);
  CHECK(answer->has_value());
  ::kill(std::stoi(read(ipam.dir.path("pid"))), SIGKILL);
}

TEST_CASE("A file that the kernel cannot execute is an error and does not hang") {
  const Ipam ipam("");
  std::ofstream(ipam.dir.path("ipam")) << "\x7f"
                                          "ELF junk";
  CHECK_FALSE(ipam.run());
}

TEST_CASE("An IPAM plugin ends although the parent of vfrail-cni ignores SIGCHLD") {
  const Ipam ipam("echo '{\"ips\":[]}'");
  std::signal(SIGCHLD, SIG_IGN);
  const auto answer = ipam.run();
  std::signal(SIGCHLD, SIG_DFL);
  REQUIRE(answer);
  CHECK(answer->has_value());
}

TEST_CASE("No outcome leaves a process running") {
  for (const char* script : {"echo '{}'", "exit 1", "kill -9 $$", "echo junk"})
    static_cast<void>(Ipam(script).run());
  static_cast<void>(Ipam("sleep 1000").run(Command::add, milliseconds{50}));
  CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);
  CHECK(errno == ECHILD);
}

TEST_CASE("A process group that has not opened the lock's file is not killed, whatever the file says") {
  const test::TempDir dir;
  const pid_t other = ::fork();
  if (other == 0) {
    ::pause();
    ::_exit(0);
  }
  ::setpgid(other, other);
  const std::string lock = dir.path("lock");
  const auto noted = GENERATE_COPY(std::to_string(other), "1", "0", "-1", "x", "");
  CAPTURE(noted);
  std::ofstream(lock) << std::string(512, ' ') << "process group " << noted << "\n";
  const auto killed = kill_holder(SysRoot("/"), lock);
  REQUIRE(killed.ok());
  CHECK_FALSE(*killed);
  CHECK(::waitpid(other, nullptr, WNOHANG) == 0);
  ::kill(other, SIGKILL);
  ::waitpid(other, nullptr, 0);
}

TEST_CASE("Without a lock's file, or with one that names no group, nothing is killed") {
  const test::TempDir dir;
  CHECK_FALSE(*kill_holder(SysRoot("/"), dir.path("lock")));
  std::ofstream(dir.path("lock")) << "process 4711 (vfrail), ADD of net1 of container c1";
  CHECK_FALSE(*kill_holder(SysRoot("/"), dir.path("lock")));
}

}  // namespace vfrail

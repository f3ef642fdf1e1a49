// vfrail-kube sends its token to the API server, and writes it to no file.
#include "common/files.h"
#include "tests/kube/api_server.h"
#include "tests/kube/kubeconfig.h"
#include "tests/kube/node/node_cases.h"
#include "tests/support/places.h"

#include <atomic>
#include <csignal>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

namespace vfrail::kube {

namespace {

constexpr const char* kToken = "token-that-nobody-may-read";

// A program that may write core files of any size, to the folder; its output is in `log` there.
class MayDumpCore {
 public:
  MayDumpCore(const test::TempDir& folder, const std::string& program) {
    std::string script = "cd " + folder.path() + " && ulimit -c unlimited && exec " + program + " > log 2>&1";
    std::vector<std::string> words{"/bin/bash", "-c", script};
    char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
    REQUIRE(::posix_spawn(&pid_, arguments[0], nullptr, nullptr, arguments, environ) == 0);
  }
  MayDumpCore(const MayDumpCore&) = delete;
  MayDumpCore& operator=(const MayDumpCore&) = delete;
  ~MayDumpCore() {
    if (pid_ > 0) dumps_core(SIGKILL);
  }
  // Ends it by the signal.
  bool dumps_core(int signal) {
    int status = 0;
    ::kill(pid_, signal);
    ::waitpid(std::exchange(pid_, -1), &status, 0);
    return WCOREDUMP(status);
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
};

bool has_begun(const MayDumpCore& program, const std::string& name) {
  const auto words = read_file("/proc/" + std::to_string(program.pid()) + "/comm", 100);
  return words && *words && **words == name + "\n";
}

}  // namespace

TEST_CASE("vfrail-kube writes its token neither to its log nor to a core file") {
  const test::TempDir folder;
  {
    MayDumpCore other(folder, "sleep 600");
    REQUIRE(test::comes_true([&] { return has_begun(other, "sleep"); }));
    if (!other.dumps_core(SIGABRT)) WARN("this machine writes no core file of any program");
  }
  std::atomic<bool> has_come = false;
  ApiServer server([&](const ServedRequest& request, ServedAnswer& answer) {
    if (request.authorization == std::string("Bearer ") + kToken) has_come = true;
    answer.reply(403, status_text(403, "Forbidden", "no right"));
  });
  const std::string kubeconfig = kubeconfig_of(server, folder, kToken);
  MayDumpCore controller(folder, test::program_path("vfrail-kube") +
                                     " controller --log-level=debug --kubeconfig " + kubeconfig +
                                     " --namespace n");
  const auto log = [&] { return read_file(folder.path("log"), 1 << 20).value_or("").value_or(""); };
  REQUIRE(test::comes_true([&] { return has_come && log().find("no right") != std::string::npos; }));
  CHECK_FALSE(controller.dumps_core(SIGABRT));
  CHECK(log().find(kToken) == std::string::npos);
}

}  // namespace vfrail::kube

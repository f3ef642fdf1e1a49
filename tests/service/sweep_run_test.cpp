#include "plugin/service/sweep_run.h"

#include "tests/service/support.h"
#include "tests/support/deadline.h"

#include <csignal>
#include <fstream>
#include <poll.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>

namespace vfrail::test {
using namespace plugin;

namespace {

std::string script(const TempDir& folder, const std::string& text) {
  std::string path = folder.path("sweep.sh");
  std::ofstream(path) << "#!/bin/sh\n" << text << '\n';
  ::chmod(path.c_str(), 0755);
  return path;
}

bool has_ended(const SweepRun& run) {
  pollfd fd{run.fd(), POLLIN, 0};
  return ::poll(&fd, 1, static_cast<int>(kDeadline.count())) == 1;
}

}  // namespace

TEST_CASE("a sweep runs beside us, and its output is read") {
  const TempDir folder;
  auto run = SweepRun::start(script(folder, R"(echo "verb $1"; echo "and errors" >&2; exit 3)"));
  REQUIRE(run);
  REQUIRE(has_ended(*run));
  const auto outcome = run->finish();
  CHECK(outcome.exit_code == 3);
  CHECK(outcome.output == "verb sweep\nand errors\n");
}

TEST_CASE("a sweep inherits none of our blocked signals, and ends with us") {
  const TempDir folder;
  sigset_t term;
  ::sigemptyset(&term);
  ::sigaddset(&term, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &term, nullptr);
  auto run = SweepRun::start(script(folder, "kill -TERM $$; sleep 3600"));
  ::pthread_sigmask(SIG_UNBLOCK, &term, nullptr);
  REQUIRE(run);
  REQUIRE(has_ended(*run));
  CHECK(run->finish().exit_code == -1);
  { const auto hanging = SweepRun::start(script(folder, "exec sleep 3600")); }
}

TEST_CASE("the exit code of a sweep is known although the parent of vfrail ignores SIGCHLD") {
  const TempDir folder;
  ::signal(SIGCHLD, SIG_IGN);
  auto run = SweepRun::start(script(folder, "exit 3"));
  REQUIRE(run);
  REQUIRE(has_ended(*run));
  CHECK(run->finish().exit_code == 3);
}

TEST_CASE("a missing program is an error that names it") {
  const auto run = SweepRun::start("/not/there/vfrail");
  REQUIRE_FALSE(run);
  CHECK(run.error().text.find("/not/there/vfrail sweep") != std::string::npos);
}

}  // namespace vfrail::test

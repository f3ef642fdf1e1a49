// plugin/provision/timed_write.h
#include "plugin/provision/timed_write.h"

#include "common/files.h"
#include "tests/support/deadline.h"
#include "tests/support/temp_dir.h"

#include <cerrno>
#include <fstream>
#include <sys/stat.h>

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::plugin;

TEST_CASE("a timed write writes what it is given, and creates nothing") {
  const test::TempDir folder;
  std::ofstream(folder.path("sriov_numvfs")) << "0";
  REQUIRE(timed_write(folder.path("sriov_numvfs"), "7", test::kDeadline));
  CHECK(*read_file(folder.path("sriov_numvfs"), 100) == "7");
  const auto missing = timed_write(folder.path("other"), "7", test::kDeadline);
  REQUIRE_FALSE(missing);
  CHECK(missing.error().sys == ENOENT);
}

TEST_CASE("a write that does not return is given up at its deadline, and says so") {
  const test::TempDir folder;
  const std::string path = folder.path("sriov_numvfs");
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);  // nobody reads it, so that the child hangs in open(2)
  const auto written = timed_write(path, "7", std::chrono::milliseconds(1000));
  REQUIRE_FALSE(written);
  CHECK(written.error().code == Errc::timeout);
  CHECK(written.error().text ==
        "write 7 to " + path + ": it has not returned after 1 s and hangs in the driver; see dmesg");
}

// cni/install.h: the running program, here the test's own, is what gets installed.
#include "cni/install.h"

#include "tests/support/temp_dir.h"

#include <filesystem>
#include <fstream>
#include <sys/stat.h>

#include <catch2/catch.hpp>

using namespace vfrail::cni;

namespace vfrail {
namespace {

namespace fs = std::filesystem;

struct stat status_of(const std::string& path) {
  struct stat out {};
  REQUIRE(::stat(path.c_str(), &out) == 0);
  return out;
}

}  // namespace

TEST_CASE("The installed program is the running one, is executable, and nothing else is beside it") {
  const test::TempDir dir;
  REQUIRE(install(dir.path(), "vfrail"));
  CHECK(fs::file_size(dir.path("vfrail")) == fs::file_size("/proc/self/exe"));
  CHECK((status_of(dir.path("vfrail")).st_mode & 07777) == 0755);
  CHECK(std::distance(fs::directory_iterator(dir.path()), fs::directory_iterator()) == 1);
}

TEST_CASE("An identical installed program is left alone, a different one is replaced atomically") {
  const test::TempDir dir;
  REQUIRE(install(dir.path(), "vfrail"));
  const auto first = status_of(dir.path("vfrail")).st_ino;
  REQUIRE(install(dir.path(), "vfrail"));
  CHECK(status_of(dir.path("vfrail")).st_ino == first);
  std::ofstream(dir.path("vfrail"), std::ios::app) << "x";
  REQUIRE(install(dir.path(), "vfrail"));
  CHECK(status_of(dir.path("vfrail")).st_ino != first);
  CHECK(fs::file_size(dir.path("vfrail")) == fs::file_size("/proc/self/exe"));
}

TEST_CASE("Installing replaces a symbolic link and does not write through it") {
  const test::TempDir dir;
  std::ofstream(dir.path("victim")) << "safe";
  fs::create_symlink("victim", dir.path("vfrail"));
  REQUIRE(install(dir.path(), "vfrail"));
  CHECK(fs::file_size(dir.path("victim")) == 4);
  CHECK_FALSE(fs::is_symlink(dir.path("vfrail")));
}

TEST_CASE("vfrail-check is installed beside it, executable, and replaced when it differs") {
  const test::TempDir dir;
  std::ofstream(dir.path("new")) << "program";
  REQUIRE(install_check(dir.path(), dir.path("new")));
  CHECK(fs::file_size(dir.path("vfrail-check")) == 7);
  CHECK((status_of(dir.path("vfrail-check")).st_mode & 07777) == 0755);
  std::ofstream(dir.path("new")) << "newer one";
  REQUIRE(install_check(dir.path(), dir.path("new")));
  CHECK(fs::file_size(dir.path("vfrail-check")) == 9);
  const auto missing = install_check(dir.path(), dir.path("none"));
  CHECK(missing.error().code == Errc::not_found);
  CHECK(missing.error().text == dir.path("none") + " is not there");
}

TEST_CASE("A name that leads out of the folder is refused") {
  const test::TempDir dir;
  for (const char* name : {"", ".", "..", "../x", "a/b", "/x"}) {
    CAPTURE(name);
    CHECK(install(dir.path(), name).error().code == Errc::invalid);
  }
}

TEST_CASE("A folder that does not exist is an error that names the file") {
  const auto done = install("/nonexistent", "vfrail");
  REQUIRE_FALSE(done);
  CHECK(done.error().text.find("/nonexistent/vfrail") != std::string::npos);
}

}  // namespace vfrail

// common/container/held_folder.h: nothing below the first folder leads elsewhere.
#include "common/container/held_folder.h"

#include "common/container/cdi_spec.h"
#include "common/files.h"
#include "tests/support/temp_dir.h"

#include <filesystem>
#include <sys/stat.h>

#include <catch2/catch.hpp>

namespace vfrail {
namespace {

namespace fs = std::filesystem;

struct Folders {
  test::TempDir dir;
  std::vector<std::string> roots{dir.path("none"), dir.path("root")};
  Folders() {
    fs::create_directories(dir.path("root/a/b"));
    fs::create_directories(dir.path("elsewhere"));
    fs::create_directory_symlink(dir.path("elsewhere"), dir.path("root/a/link"));
  }
};

}  // namespace

TEST_CASE("An error in a folder names it by its own path") {
  const test::TempDir dir;
  const auto folder = HeldFolder::open(dir.path());
  REQUIRE((folder && *folder));
  const auto written = write_file((*folder)->at(std::string(300, 'x')), "text", 0600, Durability::renamed);
  REQUIRE_FALSE(written);
  CHECK_THAT(written.error().text,
             Catch::Contains("create " + dir.path() + "/xxx") && !Catch::Contains("/proc/"));
}

TEST_CASE("A file below one of the folders is found, whether it exists or not") {
  Folders t;
  const auto file = find_below(t.roots, t.dir.path("root/a/b/f"));
  REQUIRE(file);
  REQUIRE(*file);
  REQUIRE(write_file((*file)->path(), "x", 0600, Durability::renamed));
  CHECK(fs::exists(t.dir.path("root/a/b/f")));
  CHECK(find_below(t.roots, t.dir.path("root/f"))->has_value());
}

TEST_CASE("A file whose folder does not exist is not found") {
  Folders t;
  CHECK_FALSE(find_below(t.roots, t.dir.path("root/x/f"))->has_value());
  CHECK_FALSE(find_below(t.roots, t.dir.path("none/f"))->has_value());
}

TEST_CASE("A path that leads elsewhere is denied") {
  Folders t;
  const char* path = GENERATE("root", "root/", "root/a/../b/f", "root/a/./f", "root//a/f", "root/a/link/f",
                              "rootf", "elsewhere/f", "root/a/b/..", "root/a/b/.");
  CAPTURE(path);
  const auto file = find_below(t.roots, t.dir.path(path));
  REQUIRE_FALSE(file);
  CHECK(file.error().code == Errc::denied);
}

TEST_CASE("The first folder may be reached through symbolic links, but not be one") {
  Folders t;
  fs::create_directory_symlink(t.dir.path("root"), t.dir.path("to-root"));
  CHECK(HeldFolder::open(t.dir.path("to-root/a"))->has_value());
  CHECK(HeldFolder::open(t.dir.path("to-root")).error().code == Errc::denied);
  CHECK(find_below({t.dir.path("to-root")}, t.dir.path("to-root/a/f"))->has_value());
}

TEST_CASE("A folder that replaces a held one is not used") {
  Folders t;
  const auto held = HeldFolder::open(t.dir.path("root/a/b"));
  REQUIRE(*held);
  fs::rename(t.dir.path("root/a/b"), t.dir.path("moved"));
  fs::create_directory_symlink(t.dir.path("elsewhere"), t.dir.path("root/a/b"));
  REQUIRE(write_file((*held)->at("f"), "x", 0600, Durability::renamed));
  CHECK(fs::exists(t.dir.path("moved/f")));
  CHECK(fs::is_empty(t.dir.path("elsewhere")));
}

TEST_CASE("An error about a file in a held folder names the folder, not a descriptor") {
  const test::TempDir dir;
  fs::create_directories(dir.path("pods/name/folder"));
  const auto folder = HeldFolder::open(dir.path("pods/name"));
  REQUIRE(folder);
  const std::string file = (*folder)->at("folder");
  const std::string path = fs::canonical(dir.path()).string() + "/pods/name/folder";
  for (const Error& error :
       {read_file(file, 100).error(), remove_file(file).error(),
        write_file(file, "x", 0600, Durability::renamed).error(), read_cdi_spec(file).error()}) {
    CAPTURE(error.text);
    CHECK(error.text.find(path) != std::string::npos);
    CHECK(error.text.find("/proc/") == std::string::npos);
  }
}

TEST_CASE("A folder that others can write is denied") {
  Folders t;
  REQUIRE(::chmod(t.dir.path("root").c_str(), 0755) == 0);
  CHECK((*HeldFolder::open(t.dir.path("root")))->check_owner());
  const mode_t mode = GENERATE(0775U, 0757U);
  REQUIRE(::chmod(t.dir.path("root").c_str(), mode) == 0);
  CHECK((*HeldFolder::open(t.dir.path("root")))->check_owner().error().code == Errc::denied);
}

TEST_CASE("A folder is made in the one that is held, and a link in its place is refused") {
  Folders t;
  const auto root = HeldFolder::open(t.dir.path("root"));
  REQUIRE((root && *root));
  REQUIRE((*root)->make("new", 0700));
  CHECK((fs::status(t.dir.path("root/new")).permissions() & fs::perms::all) == fs::perms(0700));
  CHECK((*root)->make("new", 0700));
  const auto a = (*root)->enter("a");
  REQUIRE((a && *a));
  CHECK((*a)->make("link", 0755).error().code == Errc::denied);
  CHECK(fs::is_empty(t.dir.path("elsewhere")));
}

}  // namespace vfrail

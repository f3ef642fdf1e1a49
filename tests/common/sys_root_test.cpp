// common/sys_root.h: bounded reads below a root.
#include "common/sys_root.h"

#include "tests/support/temp_dir.h"

#include <filesystem>
#include <fstream>
#include <sys/stat.h>

#include <catch2/catch.hpp>

namespace vfrail {
namespace {

struct Tree {
  test::TempDir dir;
  SysRoot sys{dir.path()};
  explicit Tree(std::string_view manifest) { test::write_tree(dir.path(), manifest); }
};

}  // namespace

TEST_CASE("A file is read without the white space at its end") {
  const Tree tree("sys/vendor = 0x15b3 \t");
  CHECK(*tree.sys.text("sys/vendor").value_or(std::nullopt) == "0x15b3");
}

TEST_CASE("A file that is not there is no error") {
  const Tree tree("sys/vendor = x");
  CHECK_FALSE(tree.sys.text("sys/none").value_or("x").has_value());
  CHECK_FALSE(tree.sys.text("sys/vendor/below").value_or("x").has_value());
  CHECK_FALSE(tree.sys.exists("sys/none"));
}

TEST_CASE("What cannot be read as a file is an error, except for those who can do without") {
  const Tree tree("sys/folder/");
  CHECK_FALSE(tree.sys.text("sys/folder"));
  CHECK_FALSE(tree.sys.text_or_none("sys/folder").has_value());
}

TEST_CASE("A file of more than 64 KiB is refused") {
  const Tree tree("sys/");
  std::ofstream(tree.dir.path("sys/big")) << std::string(70'000, 'x');
  const auto text = tree.sys.text("sys/big");
  REQUIRE_FALSE(text);
  CHECK(text.error().code == Errc::protocol);
}

TEST_CASE("A fifo in the way does not stop the reader") {
  const Tree tree("sys/");
  REQUIRE(::mkfifo(tree.dir.path("sys/fifo").c_str(), 0600) == 0);
  CHECK(tree.sys.text("sys/fifo").value_or("x")->empty());
}

TEST_CASE("A number is read whole or not at all") {
  const Tree tree("sys/a = -1\nsys/b = 12x\nsys/c = 0x10\n");
  CHECK(tree.sys.number_or_none("sys/a") == -1);
  CHECK_FALSE(tree.sys.number_or_none("sys/b").has_value());
  CHECK_FALSE(tree.sys.number_or_none("sys/c").has_value());
  CHECK_FALSE(tree.sys.number_or_none("sys/d").has_value());
}

TEST_CASE("The name behind a link is the last part of its target, also when the target is gone") {
  const Tree tree("sys/device/driver -> ../../bus/drivers/igbvf");
  CHECK(tree.sys.link_name("sys/device/driver") == "igbvf");
  CHECK_FALSE(tree.sys.link_name("sys/device").has_value());
}

TEST_CASE("A path is resolved below the root and never out of it") {
  const Tree tree("sys/devices/pci/net/\nsys/class/a -> ../devices/pci\nsys/class/out -> /etc\n");
  CHECK(tree.sys.resolve("sys/class/a/net") == "sys/devices/pci/net");
  CHECK_FALSE(tree.sys.resolve("sys/class/out").has_value());
  CHECK_FALSE(tree.sys.resolve("sys/class/none").has_value());
  CHECK_FALSE(tree.sys.resolve("sys/../../..").has_value());
}

TEST_CASE("A folder is listed in order, and one that is not there is empty") {
  const Tree tree("sys/b = 1\nsys/a/\nsys/c -> b\n");
  CHECK(tree.sys.list("sys") == std::vector<std::string>{"a", "b", "c"});
  CHECK(tree.sys.list("none").empty());
  CHECK(tree.sys.list("sys/b").empty());
}

}  // namespace vfrail

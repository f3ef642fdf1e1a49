// common/node/sys_root.h: bounded reads below a root.
#include "common/node/sys_root.h"

#include "tests/support/sys_tree.h"

#include <filesystem>
#include <fstream>
#include <sys/stat.h>

#include <catch2/catch.hpp>

namespace vfrail {
namespace {

using test::SysTree;

}  // namespace

TEST_CASE("a root is compared by what it is, however it is written") {
  for (const char* root : {"", "/", "//", "///", "/.", "/./", "/host/..", "//./"}) {
    CAPTURE(root);
    CHECK(normal_root(root) == "/");
  }
  CHECK(normal_root("/host/") == "/host");
  CHECK(normal_root("//host/./x//") == "/host/x");
  CHECK(normal_root("tree") == normal_root("./tree/"));
  CHECK(normal_root("tree").front() == '/');
}

TEST_CASE("A file is read without the white space at its end") {
  const SysTree tree("sys/vendor = 0x15b3 \t");
  CHECK(*tree.sys.text("sys/vendor").value_or(std::nullopt) == "0x15b3");
}

TEST_CASE("A missing file is no error") {
  const SysTree tree("sys/vendor = x");
  CHECK_FALSE(tree.sys.text("sys/none").value_or("x").has_value());
  CHECK_FALSE(tree.sys.text("sys/vendor/below").value_or("x").has_value());
  CHECK_FALSE(tree.sys.exists("sys/none").value_or(true));
}

TEST_CASE("What cannot be read as a file is an error, or no value for callers that can do without") {
  const SysTree tree("sys/folder/");
  CHECK_FALSE(tree.sys.text("sys/folder"));
  CHECK_FALSE(tree.sys.text("sys/folder").or_none().has_value());
}

TEST_CASE("A file of more than 64 KiB is refused") {
  const SysTree tree("sys/");
  std::ofstream(tree.dir.path("sys/big")) << std::string(70'000, 'x');
  const auto text = tree.sys.text("sys/big");
  REQUIRE_FALSE(text);
  CHECK(text.error().code == Errc::protocol);
}

TEST_CASE("A FIFO does not block the reader") {
  const SysTree tree("sys/");
  REQUIRE(::mkfifo(tree.dir.path("sys/fifo").c_str(), 0600) == 0);
  CHECK(tree.sys.text("sys/fifo").value_or("x")->empty());
}

TEST_CASE("A number is read completely or not at all") {
  const SysTree tree("sys/a = -1\nsys/b = 12x\nsys/c = 0x10\n");
  CHECK(tree.sys.number("sys/a").value_or(0) == -1);
  CHECK_FALSE(tree.sys.number("sys/b").value_or(0).has_value());
  CHECK_FALSE(tree.sys.number("sys/c").value_or(0).has_value());
  CHECK_FALSE(tree.sys.number("sys/d").value_or(0).has_value());
}

TEST_CASE("The name behind a link is the last part of its target, even when the target is missing") {
  const SysTree tree("sys/device/driver -> ../../bus/drivers/igbvf");
  CHECK(tree.sys.link_name("sys/device/driver").value_or("") == "igbvf");
  CHECK_FALSE(tree.sys.link_name("sys/device").value_or("").has_value());
}

TEST_CASE("A path is resolved below the root and never out of it") {
  const SysTree tree("sys/devices/pci/net/\nsys/class/a -> ../devices/pci\nsys/class/out -> /etc\n");
  CHECK(tree.sys.resolve("sys/class/a/net").value_or("") == "sys/devices/pci/net");
  CHECK_FALSE(tree.sys.resolve("sys/class/out").value_or("").has_value());
  CHECK_FALSE(tree.sys.resolve("sys/class/none").value_or("").has_value());
  CHECK_FALSE(tree.sys.resolve("sys/../../..").value_or("").has_value());
}

TEST_CASE("A folder is listed in order, and a missing one differs from an empty one") {
  const SysTree tree("sys/b = 1\nsys/a/\nsys/c -> b\n");
  CHECK(tree.sys.list("sys").value_or(std::nullopt) == std::vector<std::string>{"a", "b", "c"});
  CHECK_FALSE(tree.sys.list("none").value_or(SysRoot::Names()).has_value());
  CHECK_FALSE(tree.sys.list("sys/b").value_or(SysRoot::Names()).has_value());
}

// A link to itself is an error for root, too (ELOOP), whom no permission stops.
TEST_CASE("A failed read is not taken for a missing file") {
  const SysTree tree("sys/loop -> loop\n");
  CHECK_FALSE(tree.sys.exists("sys/loop/x").ok());
  CHECK_FALSE(tree.sys.text("sys/loop"));
  CHECK_FALSE(tree.sys.number("sys/loop"));
  CHECK_FALSE(tree.sys.link_name("sys/loop/x"));
  CHECK_FALSE(tree.sys.link_target("sys/loop/x"));
  CHECK_FALSE(tree.sys.list("sys/loop"));
  CHECK_FALSE(tree.sys.resolve("sys/loop"));
}

}  // namespace vfrail

// common/kernel/netns.h, as far as it needs no rights; tests/netns has the rest.
#include "common/kernel/netns.h"

#include "tests/support/temp_dir.h"

#include <fstream>

#include <catch2/catch.hpp>

namespace vfrail {

TEST_CASE("The namespace of the thread is the same each time and by each of its paths") {
  const auto first = Netns::current();
  const auto second = Netns::open("/proc/self/ns/net");
  REQUIRE(first);
  REQUIRE((second && *second));
  CHECK(first->id() == (*second)->id());
  CHECK(first->id().inode != 0);
}

TEST_CASE("A path that does not exist is neither a namespace nor an error") {
  const auto netns = Netns::open("/nonexistent/netns");
  REQUIRE(netns);
  CHECK_FALSE(netns->has_value());
}

TEST_CASE("An ordinary file, which a reboot leaves at the path, is neither a namespace nor an error") {
  const test::TempDir dir;
  std::ofstream(dir.path("stale")) << "";
  const auto netns = Netns::open(dir.path("stale"));
  REQUIRE(netns);
  CHECK_FALSE(netns->has_value());
}

TEST_CASE("A namespace of another kind is refused") {
  const auto netns = Netns::open("/proc/self/ns/uts");
  REQUIRE_FALSE(netns);
  CHECK(netns.error().code == Errc::wrong_netns);
}

TEST_CASE("Entering the thread's own namespace needs no privileges and changes nothing") {
  const auto home = Netns::current();
  REQUIRE(home);
  {
    const auto scope = NetnsScope::enter(*home, *home);
    CHECK(scope);
  }
  CHECK(Netns::current()->id() == home->id());
}

}  // namespace vfrail

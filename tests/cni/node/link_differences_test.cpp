#include "cni/node/link_differences.h"

#include <catch2/catch.hpp>

namespace vfrail::test {
using namespace cni;

namespace {

using Texts = std::vector<std::string>;

Link with_altnames(const Texts& names) {
  Link out;
  out.altnames = names;
  return out;
}

}  // namespace

TEST_CASE("alternative names that cannot be removed are one difference, with the reboot that it takes") {
  const LinkBefore before = LinkBefore::of(with_altnames({"own"}));
  CHECK(link_differences(before, with_altnames({"own"})).empty());
  const Texts names{"own", "a", "b", "c"};
  CHECK(foreign_altnames(before, with_altnames(names)) == Texts{"a", "b", "c"});
  const Texts found = link_differences(before, with_altnames(names));
  REQUIRE(found.size() == 1);
  CHECK_THAT(found.front(),
             Catch::Contains("3 alternative names, such as a") && Catch::Contains("reboot the node"));
}

}  // namespace vfrail::test

#include "plugin/observe/metrics/listen_address.h"

#include <catch2/catch.hpp>

namespace vfrail::test {
using namespace plugin;

TEST_CASE("the flag --metrics-address accepts an address with a port, or the path of a socket") {
  const auto [text, shown, local] = GENERATE(table<std::string, std::string, bool>({
      {"localhost:9808", "127.0.0.1:9808", true},
      {"127.0.0.1:9808", "127.0.0.1:9808", true},
      {"127.9.9.9:1", "127.9.9.9:1", true},
      {"[::1]:9808", "[::1]:9808", true},
      {"unix:/run/vfrail/metrics.sock", "unix:/run/vfrail/metrics.sock", true},
      {"0.0.0.0:9808", "0.0.0.0:9808", false},
      {"192.0.2.1:65535", "192.0.2.1:65535", false},
      {"[2001:db8::1]:80", "[2001:db8::1]:80", false},
      {"[192.0.2.1]:80", "192.0.2.1:80", false},
      {"[127.0.0.1]:80", "127.0.0.1:80", true},
      {":9808", "[::]:9808", false},
  }));
  INFO(text);
  const auto parsed = parse_listen_address(text);
  REQUIRE(parsed);
  CHECK(parsed->text() == shown);
  CHECK(parsed->local == local);
}

TEST_CASE("an invalid address is refused with the accepted forms") {
  const std::string text = GENERATE("", "9808", "localhost", "localhost:", "localhost:x", "localhost:65536",
                                    "localhost:-1", "node1:9808", "::1:9808", "[localhost]:9808",
                                    "1.2.3:9808", "unix:", "unix:run/x", "unix:/run/", "localhost:80 ",
                                    "http://localhost:80", "[::1:80", "unix:/" + std::string(107, 'x'));
  INFO(text);
  const auto parsed = parse_listen_address(text);
  REQUIRE_FALSE(parsed);
  CHECK(parsed.error().code == Errc::invalid);
  CHECK(parsed.error().text.find(text.size() > 107 ? "at most 107 bytes" : "is not one of") !=
        std::string::npos);
}

}  // namespace vfrail::test

// The lines of a test of traffic: what is written is read as the same, and nothing that a peer sends hurts.
#include "cni/in_pod/traffic/traffic_message.h"

#include <random>

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::pod;

namespace {

const EndAddress kAddress{0xffffff,   65535,
                          4096,       {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8},
                          0xffffffff, uint64_t{1} << 47};
const TrafficFailure kFailure{TrafficStage::rtr, 61};

std::string hello_with(const std::string& more) {
  return R"({"vfrail_traffic":1,"message_bytes":65536,"seconds":2,"rails":[{"name":"a","rate_mbits":1}])" +
         more + "}";
}

std::vector<std::string> good_lines() {
  return {format_hello({65536, 2, {{"mlx5_2", 100}, {"mlx5_6", 2.5}}}),
          format_order(OpenOrder{{{0, kAddress}, {3, kFailure}}}),
          format_order(WriteOrder{{0, 3}}),
          format_order(EndOrder{}),
          format_ends({{1, kAddress}, {2, kFailure}}),
          format_results({{1, {uint64_t{1} << 40, 2.25, kFailure, RoundTrips{1000, 2100, 3400}}}}),
          format_refusal("no")};
}

// Each parser; whether it accepted. What it accepts is within its limits.
int parse_all(const std::string& line) {
  int accepted = 0;
  if (const auto hello = parse_hello(line)) {
    ++accepted;
    CHECK(hello->message_bytes >= kMinMessage);
    CHECK(hello->message_bytes <= kMaxMessage);
    CHECK(hello->seconds >= 1);
    CHECK(hello->seconds <= kMaxSeconds);
    CHECK(hello->rails.size() <= kMaxTrafficRails);
  }
  if (const auto order = parse_order(line)) {
    ++accepted;
    if (const auto* write = std::get_if<WriteOrder>(&*order)) CHECK(write->rails.size() <= kMaxTrafficRails);
  }
  if (const auto ends = parse_ends(line)) {
    ++accepted;
    for (const auto& [rail, end] : *ends) {
      CHECK(rail < kMaxTrafficRails);
      if (const auto* address = std::get_if<EndAddress>(&end)) {
        CHECK(address->queue_pair <= 0xffffff);
        CHECK(address->mtu >= 256);
        CHECK(address->mtu <= 4096);
      }
    }
  }
  if (const auto results = parse_results(line)) {
    ++accepted;
    for (const auto& [rail, result] : *results) CHECK((rail < kMaxTrafficRails && result.seconds >= 0));
  }
  return accepted;
}

}  // namespace

TEST_CASE("what is written is read as the same") {
  const TrafficHello hello{1 << 20, 5, {{"mlx5_2", 100}, {"mlx5_6", 2.5}}};
  CHECK(*parse_hello(format_hello(hello)) == hello);
  const OfferedEnds ends{{0, kAddress}, {63, kFailure}};
  CHECK(*parse_ends(format_ends(ends)) == ends);
  const auto order = parse_order(format_order(OpenOrder{ends}));
  REQUIRE(order);
  CHECK(std::get<OpenOrder>(*order).ends == ends);
  CHECK(std::get<WriteOrder>(*parse_order(format_order(WriteOrder{{2, 5}}))).rails ==
        std::vector<uint32_t>{2, 5});
  CHECK(std::holds_alternative<EndOrder>(*parse_order(format_order(EndOrder{}))));
  CHECK(!std::get<WriteOrder>(*parse_order(format_order(WriteOrder{{2}}))).round_trips);
  CHECK(std::get<WriteOrder>(*parse_order(format_order(WriteOrder{{2}, true}))).round_trips);
  const WriteResults results{{4, {uint64_t{1} << 40, 2.25, std::nullopt, RoundTrips{1000, 2100, 3400}}},
                             {5, {0, 0, kFailure}},
                             {6, {1, 1, std::nullopt, RoundTrips{7, 2100, std::nullopt}}}};
  CHECK(*parse_results(format_results(results)) == results);
}

TEST_CASE("a peer's refusal is shown, with nothing that a terminal interprets") {
  const auto ends = parse_ends(R"({"error":"no \u001b[31m rails"})");
  REQUIRE(!ends);
  CHECK(ends.error().code == Errc::peer);
  CHECK(ends.error().text == "the peer: no \\x1b[31m rails");
  CHECK(parse_ends(R"({"error":")" + std::string(9000, 'x') + "\"}").error().text.size() < 300);
}

TEST_CASE("a peer of another version, or that is no vfrail-check, is named") {
  CHECK(parse_hello(hello_with("")));
  CHECK(parse_hello(R"({"vfrail_traffic":2})").error().text.find("the same vfrail-check in both pods") !=
        std::string::npos);
  CHECK(parse_hello(R"({"hello":1})").error().text.find("the peer is not a vfrail-check") !=
        std::string::npos);
  CHECK(!parse_hello("GET / HTTP/1.1\r"));
}

TEST_CASE("what is out of its range is refused") {
  const auto address = [](const std::string& key, const std::string& value) {
    std::string line = format_ends({{0, kAddress}});
    const size_t at = line.find("\"" + key + "\":") + key.size() + 3;
    return line.replace(at, line.find_first_of(",}", at) - at, value);
  };
  CHECK(parse_ends(address("key", "1")));
  for (const auto& [key, value] : std::vector<std::pair<std::string, std::string>>{{"rail", "64"},
                                                                                   {"rail", "-1"},
                                                                                   {"rail", "null"},
                                                                                   {"queue_pair", "16777216"},
                                                                                   {"lid", "65536"},
                                                                                   {"mtu", "255"},
                                                                                   {"mtu", "4097"},
                                                                                   {"key", "4294967296"},
                                                                                   {"memory", "-1"},
                                                                                   {"gid", "\"10.0.0.1\""},
                                                                                   {"gid", "\"\""},
                                                                                   {"mtu", "\"4096\""}}) {
    INFO(key << " = " << value);
    CHECK(!parse_ends(address(key, value)));
  }
  for (const char* more :
       {R"(,"seconds":61)", R"(,"seconds":0)", R"(,"message_bytes":1)", R"(,"message_bytes":99999999)",
        R"(,"rails":[{"name":""}])", R"(,"rails":[1])", R"(,"rails":{})"}) {
    INFO(more);
    CHECK(!parse_hello(hello_with(more)));
  }
  std::string many = R"({"order":"write","rails":[0)";
  for (int i = 0; i < 64; ++i) many += ",0";
  CHECK(!parse_order(many + "]}"));
  CHECK(!parse_order(R"({"order":"format the disk"})"));
  CHECK(!parse_results(R"({"results":[{"rail":0,"bytes":1,"micros":1,"failed":{"stage":"?","error":1}}]})"));
}

TEST_CASE(
    "round trips that nobody can have measured are refused, and those of an earlier version are absent") {
  const auto results = [](const std::string& round_trips) {
    return parse_results(R"({"results":[{"rail":0,"bytes":1,"micros":1)" + round_trips + "}]}");
  };
  CHECK(!results("")->at(0).round_trips);
  CHECK(results(R"(,"round_trips":{"count":1,"typical_ns":1})")->at(0).round_trips->typical_ns == 1);
  for (const char* wrong :
       {R"({})", R"(7)", R"({"count":0,"typical_ns":1})", R"({"count":1,"typical_ns":-1})",
        R"({"count":1,"typical_ns":1,"p99_ns":3600000000001})"}) {
    INFO(wrong);
    CHECK(!results(R"(,"round_trips":)" + std::string(wrong)));
  }
}

TEST_CASE("a rail that is ordered twice writes once") {
  CHECK(std::get<WriteOrder>(*parse_order(R"({"order":"write","rails":[1,0,1,1]})")).rails ==
        std::vector<uint32_t>{0, 1});
}

TEST_CASE("lines that are cut, damaged and mixed are refused or within the limits") {
  std::mt19937 random(1);  // the same at each run
  const auto lines = good_lines();
  int accepted = 0, tried = 0;
  const auto try_line = [&](const std::string& line) {
    ++tried;
    if (parse_all(line) > 0) ++accepted;
  };
  for (const std::string& line : lines) {
    for (size_t end = 0; end <= line.size(); ++end) try_line(line.substr(0, end));
    for (int i = 0; i < 2000; ++i) {
      std::string damaged = line;
      const std::string& other = lines[random() % lines.size()];
      switch (random() % 4) {
        case 0:
          damaged[random() % damaged.size()] = static_cast<char>(random());
          break;
        case 1:
          damaged.erase(random() % damaged.size(), random() % 8);
          break;
        case 2:
          damaged.insert(random() % damaged.size(), std::to_string(random()) + "99999999");
          break;
        default:
          damaged.insert(random() % damaged.size(), other.substr(random() % other.size(), random() % 40));
      }
      try_line(damaged);
    }
  }
  // Neither is the test one of refusals alone.
  CHECK(accepted > 100);
  CHECK(accepted < tried);
  CHECK(parse_all(std::string(kMaxTrafficLine + 1, ' ') + "{}") == 0);
  CHECK(parse_all(std::string(10000, '[')) == 0);
}

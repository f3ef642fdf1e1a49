// Which notices of a node become Events, and when.
#include "plugin/kube/node/notice_ledger.h"

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::kube;
using std::chrono::minutes;
using std::chrono::seconds;

namespace {

const NodeNotice kEmpty{"ResourceEmpty", "nvidia.com/hostdev", "nvidia.com/hostdev has no device"};
const NoticeLedger::Time kStart = NoticeLedger::Time{} + std::chrono::hours(1);

// Writes what may be written now, as an API server that takes everything: "ResourceEmpty 1", and whether it
// counts up an Event that there is.
std::vector<std::string> write_all(NoticeLedger& ledger, NoticeLedger::Time now) {
  std::vector<std::string> out;
  while (NoticeLedger::Entry* entry = ledger.next(now)) {
    out.push_back(entry->notice.reason + " " + std::to_string(entry->count) +
                  (entry->event.empty() ? "" : " again"));
    ledger.written(*entry, entry->event.empty() ? "e" + std::to_string(out.size()) : entry->event, now);
  }
  return out;
}

using Writes = std::vector<std::string>;

}  // namespace

TEST_CASE("a notice is an Event at once, and as long as it stays it is counted up every half hour") {
  NoticeLedger ledger;
  ledger.take({kEmpty}, kStart);
  CHECK(write_all(ledger, kStart) == Writes{"ResourceEmpty 1"});
  CHECK(ledger.due(kStart) == kStart + NoticeLedger::kRemind);
  ledger.take({kEmpty}, kStart + minutes(29));
  CHECK(write_all(ledger, kStart + minutes(29)).empty());
  CHECK(write_all(ledger, kStart + minutes(30)) == Writes{"ResourceEmpty 2 again"});
  ledger.take({}, kStart + minutes(40));
  CHECK(ledger.due(kStart + minutes(40)) == NoticeLedger::Time::max());
  CHECK(write_all(ledger, kStart + minutes(90)).empty());
}

TEST_CASE("a notice that flaps is counted, and written at most once in five minutes") {
  NoticeLedger ledger;
  auto now = kStart;
  Writes all;
  for (int i = 0; i < 100; ++i, now += seconds(6)) {
    ledger.take(i % 2 == 0 ? std::vector{kEmpty} : std::vector<NodeNotice>{}, now);
    const Writes some = write_all(ledger, now);
    all.insert(all.end(), some.begin(), some.end());
  }
  CHECK(all == Writes{"ResourceEmpty 1", "ResourceEmpty 26 again"});
}

TEST_CASE("another text is another Event, because that of one cannot be changed") {
  NoticeLedger ledger;
  ledger.take({kEmpty}, kStart);
  write_all(ledger, kStart);
  NodeNotice other = kEmpty;
  other.text = "nvidia.com/hostdev has no healthy device";
  ledger.take({other}, kStart + minutes(1));
  CHECK(write_all(ledger, kStart + minutes(4)).empty());
  CHECK(write_all(ledger, kStart + minutes(5)) == Writes{"ResourceEmpty 1"});
}

TEST_CASE("all notices of a node together are written within a limit, and none is lost by it") {
  NoticeLedger ledger;
  std::vector<NodeNotice> many;
  for (int i = 0; i < 30; ++i) many.push_back({"ConfigurationFaulty", "r/" + std::to_string(i), "x"});
  ledger.take(many, kStart);
  CHECK(write_all(ledger, kStart).size() == NoticeLedger::kBurst);
  CHECK(ledger.due(kStart) == kStart + NoticeLedger::kRefill);
  CHECK(write_all(ledger, kStart + seconds(59)).empty());
  CHECK(write_all(ledger, kStart + seconds(60)).size() == 1);
  CHECK(write_all(ledger, kStart + minutes(4)).size() == 3);
  size_t written = NoticeLedger::kBurst + 4;
  for (int i = 5; i < 25; ++i) written += write_all(ledger, kStart + minutes(i)).size();
  CHECK(written == 30);
}

TEST_CASE("what could not be written is tried again after five minutes, and counts as before") {
  NoticeLedger ledger;
  ledger.take({kEmpty}, kStart);
  ledger.written(*ledger.next(kStart), std::nullopt, kStart);
  CHECK(ledger.next(kStart + minutes(4)) == nullptr);
  CHECK(write_all(ledger, kStart + minutes(5)) == Writes{"ResourceEmpty 1"});
}

TEST_CASE("notices of the socket are read, and refused with what is wrong with them") {
  const auto read = read_notices(
      R"({"notices":[{"reason":"ResourceEmpty","about":"nvidia.com/hostdev","text":"nvidia.com/hostdev has no device"}]})");
  REQUIRE(read);
  CHECK(*read == std::vector{kEmpty});
  CHECK(read_notices(R"({"notices":[]})")->empty());
  for (const char* wrong : {"", "{}", R"({"notices":[7]})", R"({"notices":[{"reason":"a b","text":"x"}]})",
                            R"({"notices":[{"reason":"A","text":""}]})", R"({"notices":[{"text":"x"}]})"}) {
    INFO(wrong);
    CHECK(!read_notices(wrong));
  }
  std::string many = R"({"notices":[)";
  for (int i = 0; i < 65; ++i) many += std::string(i == 0 ? "" : ",") + R"({"reason":"A","text":"x"})";
  CHECK(read_notices(many + "]}").error().text == "notices: has more than 64");
}

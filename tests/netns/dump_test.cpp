// Dumps of links while others come and go: the kernel says when its list changed under it (NLM_F_DUMP_INTR),
// and such an answer is not taken for the node.
#include "tests/netns/node.h"
#include "tests/netns/snapshot.h"

#include <atomic>
#include <map>
#include <thread>

#include <catch2/catch.hpp>

namespace vfrail::test {

TEST_CASE("every link that stays is in a list exactly once, whatever comes and goes meanwhile") {
  constexpr int kPairs = 60;  // several messages of a dump
  constexpr int kLists = 300;
  Node node;
  const std::string pod = node.add_pod("a");
  std::string links;
  for (int i = 0; i < kPairs; ++i)
    links += "ip link add s" + std::to_string(i) + " type veth peer name t" + std::to_string(i) + "; ";
  node.in_pod(pod, links + "true");
  std::atomic<bool> done{false};
  std::thread changes([&] {
    const auto kernel = kernel_at(pod);
    while (!done) {
      const auto link = kernel->find_link("s7");
      for (const char* name : {"longer-name-s7", "s7"}) {
        if (link && *link) (void)kernel->change_link((*link)->index, {.name = name});
      }
      node.in_pod(pod, "ip link add gone0 type veth peer name gone1; ip link del gone0");
    }
  });
  const auto kernel = kernel_at(pod);
  int refused = 0;
  for (int i = 0; i < kLists; ++i) {
    auto list = kernel->links();
    // Errc::busy says that the list never stood still, which is no wrong answer.
    refused += list ? 0 : 1;
    if (!list) CHECK(list.error().code == Errc::busy);
    std::map<std::string, int> times;
    for (const Link& link : list ? *list : std::vector<Link>()) ++times[link.name];
    int wrong = 0;
    for (int pair = 0; list && pair < kPairs; ++pair) {
      if (pair != 7 && times["s" + std::to_string(pair)] != 1) ++wrong;
      if (times["t" + std::to_string(pair)] != 1) ++wrong;
    }
    CHECK(wrong == 0);
  }
  done = true;
  changes.join();
  WARN("lists that never stood still: " << refused << " of " << kLists);
}

}  // namespace vfrail::test

// What the search for hidden namespaces says of what it cannot read. With real processes:
// tests/netns/hostile_test.cpp.
#include "cni/node/hidden_namespaces.h"

#include "tests/cni/fake_node.h"

#include <algorithm>
#include <cerrno>

namespace vfrail::test {
using namespace cni;
namespace {

namespace fs = std::filesystem;

struct HiddenNode : FakeNode {
  // A thread of process 79 that is alone in a namespace.
  int add_thread(const std::string& tid) {
    const fs::path folder = dir.path("root/proc/79/task/" + tid + "/ns");
    const int netns = world.add_netns(folder / "net");
    fs::create_directories(folder);
    fs::create_symlink("net:[" + std::to_string(netns) + "]", folder / "net");
    return netns;
  }
  Result<> search(std::chrono::milliseconds longest = kUsualSearchTimeout) {
    return search([&](World& outside) {
      outside.search.renew(longest);
      return for_each_hidden_namespace(outside, [&](Kernel& there) { return visit(there); });
    });
  }
  Result<> search_for(const std::set<std::string>& names) {
    return search([&](World& outside) {
      return visit_hidden_namespaces(outside, names, [&](Kernel& there) { return visit(there); });
    });
  }
  std::vector<int> visited_in_order() const {
    std::vector<int> out = visited;
    std::sort(out.begin(), out.end());
    return out;
  }
  std::vector<int> visited;

 private:
  template <class Work>
  Result<> search(const Work& work) {
    visited.clear();
    return process(work);
  }
  Result<> visit(Kernel& there) {
    visited.push_back(static_cast<int>(there.netns_id().inode));
    return {};
  }
};

}  // namespace

TEST_CASE("each hidden namespace is visited once") {
  HiddenNode node;
  const int first = node.add_thread("80");
  const int second = node.add_thread("81");
  fs::create_directories(node.dir.path("root/proc/79/task/82/ns"));
  fs::create_symlink("net:[" + std::to_string(first) + "]", node.dir.path("root/proc/79/task/82/ns/net"));
  REQUIRE(node.search());
  CHECK(node.visited_in_order() == std::vector{first, second});
}

TEST_CASE("a namespace that a process is in is not hidden") {
  HiddenNode node;
  const int netns = node.add_thread("80");
  fs::create_directories(node.dir.path("root/proc/80/ns"));
  fs::create_symlink("net:[" + std::to_string(netns) + "]", node.dir.path("root/proc/80/ns/net"));
  REQUIRE(node.search());
  CHECK(node.visited.empty());
}

TEST_CASE("a descriptor that has been closed meanwhile is not there") {
  HiddenNode node;
  fs::create_directories(node.dir.path("root/proc/79/task/79/fd"));
  fs::create_symlink("net:[77]", node.dir.path("root/proc/79/task/79/fd/5"));
  CHECK(node.search());
  CHECK(node.visited.empty());
}

TEST_CASE("what cannot be read is an error, and hides no namespace") {
  HiddenNode node;
  const fs::path broken = node.dir.path("root/proc/78");
  fs::create_directories(broken);
  fs::create_symlink("task", broken / "task");  // ELOOP
  const int netns = node.add_thread("80");
  const auto searched = node.search();
  REQUIRE_FALSE(searched);
  CHECK(searched.error().sys == ELOOP);
  CHECK(node.visited == std::vector{netns});
}

TEST_CASE("a namespace that is mounted where it cannot be opened is an error") {
  HiddenNode node;
  const fs::path task = node.dir.path("root/proc/79/task/79");
  fs::create_directories(task / "ns");
  fs::create_symlink("mnt:[5]", task / "ns/mnt");
  std::ofstream(task / "mountinfo") << "36 35 0:4 net:[77] /hidden/here rw - nsfs nsfs rw\n";
  fs::create_directory_symlink(node.dir.path(), task / "root");
  const auto searched = node.search();
  REQUIRE_FALSE(searched);
  CHECK(searched.error().code == Errc::busy);
  CHECK_THAT(searched.error().text, Catch::Contains("net:[77]") && Catch::Contains("/hidden/here"));
}

TEST_CASE("a node with more than there is time for is an error, not an empty one") {
  HiddenNode node;
  node.add_thread("80");
  const auto searched = node.search(std::chrono::milliseconds(0));
  REQUIRE_FALSE(searched);
  CHECK(searched.error().code == Errc::timeout);
  CHECK(node.visited.empty());
}

TEST_CASE("a search for certain namespaces opens no other, and what is wrong with others is not an error") {
  HiddenNode node;
  fs::create_directories(node.dir.path("root/proc/78"));
  fs::create_symlink("task", node.dir.path("root/proc/78/task"));  // ELOOP
  node.add_thread("80");
  const int wanted = node.add_thread("81");
  node.add_thread("82");
  CHECK(node.search_for({"net:[" + std::to_string(wanted) + "]"}));
  CHECK(node.visited == std::vector{wanted});
  CHECK(node.search_for({"net:[12345]"}));
  CHECK(node.visited.empty());
}

}  // namespace vfrail::test

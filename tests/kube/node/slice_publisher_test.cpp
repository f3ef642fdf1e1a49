// Passes of the SlicePublisher upon views of the test's own, of which a watch would need a server that fails.
#include "plugin/kube/node/slice_publisher.h"

#include "tests/kube/controller/fake_cluster.h"
#include "tests/kube/node/node_cases.h"
#include "tests/support/temp_dir.h"

#include <atomic>

using namespace vfrail;
using namespace vfrail::kube;
using namespace vfrail::test;

namespace {

ObjectWatch::View with_trouble(Errc code, int sys) {
  ObjectWatch::View out;
  out.trouble = Error{code, sys, "GET of slices"};
  return out;
}

}  // namespace

TEST_CASE("an API server that is too busy for a watch is not asked again what it knows of shared devices") {
  FakeCluster cluster;
  cluster.put("nodes", parsed(R"({"metadata":{"name":"node-1","uid":"uid-1"},"status":{"allocatable":{}}})"));
  std::atomic<int> probes{0};
  cluster.change_writes([&](Json& object) {
    for (const Json& device : list_at(object, {"spec", "devices"}))
      probes += text_at(device, {"name"}) == "probe" ? 1 : 0;
  });
  const TempDir dir;
  Log log;
  REQUIRE(log.open_file(dir.path("log")));
  ApiClient client(cluster.access());
  SlicePublisher publisher(client, {"vfrail.io", "node-1", {}}, std::chrono::seconds(10), log);
  const DeviceOffer offer{"vfrail.io", {"nvidia.com/hostdev"}, vfs(3)};
  ObjectWatch::View empty;
  empty.complete = true;

  publisher.pass(offer, empty);
  REQUIRE(publisher.state().published);
  CHECK(publisher.state().sharing);
  CHECK(probes == 1);

  publisher.pass(offer, with_trouble(Errc::busy, 429));
  CHECK_FALSE(publisher.state().published);
  publisher.pass(offer, empty);
  CHECK(publisher.state().published);
  CHECK(probes == 1);

  // One that was away may have been replaced by another version.
  publisher.pass(offer, with_trouble(Errc::peer, 0));
  publisher.pass(offer, empty);
  CHECK(publisher.state().published);
  CHECK(probes == 2);
  CHECK(cluster.writes().size() == 1);
}

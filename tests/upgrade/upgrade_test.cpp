// What one version of vfrail-cni has attached, another takes down, checks, sweeps, collects and attaches
// again: an upgrade, and a downgrade, while pods run. $VFRAIL_OLD_CNI has the earlier ones, separated by
// colons; without it every test fails.
#include "tests/netns/one_pod.h"
#include "tests/support/places.h"

#include <cstdlib>

namespace vfrail::test {
namespace {

using Catch::Contains;

std::vector<std::string> old_versions() {
  const char* paths = std::getenv("VFRAIL_OLD_CNI");
  std::vector<std::string> out;
  for (std::string rest = paths == nullptr ? "" : paths; !rest.empty();) {
    const size_t end = std::min(rest.find(':'), rest.size());
    out.push_back(rest.substr(0, end));
    rest.erase(0, end + 1);
  }
  REQUIRE(!out.empty());
  return out;
}

// Who attaches, and who comes afterwards. Empty: today's.
struct Versions {
  std::string first, second;
};

Versions each_pair() {
  const auto old = old_versions();
  const auto at = static_cast<size_t>(GENERATE(range(0, 4)));
  REQUIRE(old.size() == 2);
  return at % 2 == 0 ? Versions{old[at / 2], ""} : Versions{"", old[at / 2]};
}

struct Changed : OneDevice {
  Versions versions;
  explicit Changed(const Versions& both)
      : OneDevice("ip link set vf1 down mtu 1400 alias before"), versions(both) {
    network = config("1.0.0");  // Debian's host-local knows no later one
    network.set("ipam", host_local());
    before = world();
  }
  Call as(const std::string& program, const std::string& verb) const {
    Call out = call(verb);
    out.program = program;
    return out;
  }
  Json attach() const { return done(as(versions.first, "ADD")); }
  Outcome command(const std::string& program, std::vector<std::string> words) const {
    words.insert(words.begin(), program.empty() ? test::program_path("vfrail-cni") : program);
    return Program(words,
                   {{"CNI_PATH", path("bin") + ":/usr/lib/cni"},
                    {"VFRAIL_ROOT", root()},
                    {"VFRAIL_STATE_DIR", path("state")},
                    {"VFRAIL_RUN_DIR", path("run")},
                    {"VFRAIL_CDI_DIR", path("cdi")}},
                   "")
        .wait();
  }
  // The node is as before. The oldest version does not know the files of pods, which today's sweep removes.
  void is_as_before(const std::string& taken_down_by) const {
    if (!taken_down_by.empty()) CHECK(command("", {"sweep"}).status == 0);
    CHECK(world() == before);
  }
  // Nothing of an attachment is left, whoever looks.
  void is_free() const {
    CHECK(leases().empty());
    CHECK(shell("find " + path("state") + " ! -type d ! -path \"*/baselines/*\"").empty());
    for (const std::string& program : {versions.first, versions.second}) {
      done(as(program, "ADD"));
      done(as(program, "DEL"));
      is_as_before(program);
    }
  }
};

}  // namespace

TEST_CASE("DEL by another version restores the device and releases the address") {
  Changed node(each_pair());
  CAPTURE(node.versions.first, node.versions.second);
  node.attach();
  node.in_pod(node.pod, "ip link set net1 name other mtu 1300 alias evil");
  node.done(node.as(node.versions.second, "DEL"));
  node.is_as_before(node.versions.second);
  node.done(node.as(node.versions.second, "DEL"));  // as runtimes do
  node.is_free();
}

TEST_CASE("DEL by another version after the namespace's end releases all") {
  Changed node(each_pair());
  CAPTURE(node.versions.first, node.versions.second);
  node.attach();
  node.end_pod(node.pod);
  const bool knows_path = GENERATE(true, false);
  Call del = node.as(node.versions.second, "DEL");
  if (!knows_path) del.netns.clear();
  node.done(del);
  CHECK(node.leases().empty());
  CHECK(shell("find " + node.path("state") + " ! -type d ! -path \"*/baselines/*\"").empty());
}

TEST_CASE("A sweep by another version leaves what is attached, and releases what has ended") {
  Changed node(each_pair());
  CAPTURE(node.versions.first, node.versions.second);
  node.attach();
  const Outcome left = node.command(node.versions.second, {"sweep"});
  INFO(left.out << left.err);
  CHECK(left.status == 0);
  CHECK(node.leases().size() == 1);
  CHECK_FALSE(node.link_in_pod(node.pod, "net1").is_null());
  node.end_pod(node.pod);
  const Outcome swept = node.command(node.versions.second, {"sweep"});
  INFO(swept.out << swept.err);
  CHECK(swept.status == 0);
  CHECK(node.leases().empty());
  CHECK(shell("find " + node.path("state") + " ! -type d ! -path \"*/baselines/*\"").empty());
}

TEST_CASE("CHECK by another version finds the attachment as it was made") {
  Changed node(each_pair());
  CAPTURE(node.versions.first, node.versions.second);
  const Json result = node.attach();
  Call check = node.as(node.versions.second, "CHECK");
  check.config.set("prevResult", result);
  node.done(check);
  node.done(node.as(node.versions.second, "DEL"));
  node.is_free();
}

TEST_CASE("ADD by another version does not take a device that a pod has") {
  Changed node(each_pair());
  CAPTURE(node.versions.first, node.versions.second);
  node.attach();
  Call other = node.as(node.versions.second, "ADD");
  other.container = "pod2";
  other.netns = node.add_pod("b");
  const Outcome refused = node.run(other);
  INFO(refused.out << refused.err);
  CHECK(refused.status != 0);
  CHECK_FALSE(node.link_in_pod(node.pod, "net1").is_null());
  node.done(node.as(node.versions.second, "DEL"));
  node.done(other);
  other.verb = "DEL";
  other.program = node.versions.first;
  node.done(other);
  node.is_free();
}

TEST_CASE("GC by another version keeps what is valid and releases the rest") {
  Changed node(each_pair());
  CAPTURE(node.versions.first, node.versions.second);
  node.attach();
  Call gc = node.as(node.versions.second, "GC");
  gc.config.set("cniVersion", "1.1.0");
  gc.config.set("cni.dev/valid-attachments", *Json::parse(R"([{"containerID": "pod1", "ifname": "net1"}])"));
  node.run(gc);
  CHECK_FALSE(node.link_in_pod(node.pod, "net1").is_null());
  CHECK(node.leases().size() == 1);
  gc.config.set("cni.dev/valid-attachments", Json::array());
  node.run(gc);
  node.is_as_before(node.versions.second);
  node.is_free();
}

TEST_CASE("What a pod has stacked on a device that an earlier version attached is gone") {
  Changed node(Versions{old_versions().at(static_cast<size_t>(GENERATE(0, 1))), ""});
  CAPTURE(node.versions.first);
  node.attach();
  const std::string accomplice = node.add_pod("b");
  node.in_pod(node.pod, "ip link add spy link net1 netns " + accomplice + " type macvlan mode bridge");
  const Outcome outcome = node.run(node.as("", "DEL"));
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == 0);
  CHECK_THAT(node.in_pod(accomplice, "ip link"), !Contains("spy"));
  CHECK(node.world() == node.before);
}

TEST_CASE("A downgrade leaves the files that it does not know") {
  Changed node(Versions{"", old_versions().at(static_cast<size_t>(GENERATE(0, 1)))});
  CAPTURE(node.versions.second);
  node.attach();
  const std::string known = read_text(node.path("state/baselines/uppers.kernel"));
  node.done(node.as(node.versions.second, "DEL"));
  const Outcome swept = node.command(node.versions.second, {"sweep"});
  INFO(swept.out << swept.err);
  CHECK(swept.status == 0);
  CHECK(read_text(node.path("state/baselines/uppers.kernel")) == known);
  node.is_as_before(node.versions.second);
}

}  // namespace vfrail::test

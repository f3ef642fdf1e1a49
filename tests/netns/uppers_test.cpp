// What stands on an interface, by the list of the running kernel, and a DEL beside strangers who do what they
// can to make it slow. tests/netns/hostile_test.cpp has what a pod can do to its own device.
#include "common/files.h"
#include "common/kernel/btf.h"
#include "common/kernel/upper_links.h"
#include "tests/netns/one_pod.h"
#include "tests/netns/strangers.h"

#include <algorithm>
#include <chrono>
#include <filesystem>

namespace vfrail::test {
namespace {

using Catch::Contains;
using std::chrono::steady_clock;
namespace fs = std::filesystem;

UpperOffsets offsets() {
  auto btf = read_file("/sys/kernel/btf/vmlinux", Btf::kMaxBytes);
  REQUIRE(btf.ok());
  REQUIRE(btf->has_value());
  const auto out = find_upper_offsets(std::move(**btf));
  INFO((out.ok() ? "" : out.error().text));
  REQUIRE(out.ok());
  return *out;
}

uint64_t inode_of(const std::string& netns) { return std::stoull(shell("stat -L -c %i " + netns)); }

struct Stacked : OneDevice {
  std::string far = add_pod("far");
  UpperLinks listed() const {
    const int index = std::stoi(shell("ip -o link show vf1 | cut -d: -f1"));
    auto out = read_upper_links(index, offsets());
    INFO((out.ok() ? "" : out.error().text));
    REQUIRE(out.ok());
    return *out;
  }
};

std::vector<uint64_t> namespaces_of(const UpperLinks& listed) {
  std::vector<uint64_t> out;
  for (const UpperLink& one : listed.links) out.push_back(one.netns);
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

TEST_CASE("The kernel lists what stands on an interface, in whichever namespace") {
  Stacked node;
  CHECK(node.listed() == UpperLinks{});
  shell("ip link add here link vf1 type macvlan mode bridge");
  // Created there, so that this namespace has no number for that one.
  shell("ip link add there link vf1 netns " + node.far + " type macvlan mode bridge");
  std::vector<uint64_t> both{inode_of("/proc/self/ns/net"), inode_of(node.far)};
  std::sort(both.begin(), both.end());
  CHECK(namespaces_of(node.listed()) == both);
  CHECK_FALSE(node.listed().more);
  shell("ip link del here");
  CHECK(namespaces_of(node.listed()) == std::vector{inode_of(node.far)});
  for (size_t i = 0; i < UpperLinks::kMost; ++i)
    shell("ip link add m" + std::to_string(i) + " link vf1 type macvlan mode bridge");
  CHECK(node.listed().links.size() == UpperLinks::kMost);
  CHECK(node.listed().more);
}

TEST_CASE("What another pod has put on a free device is removed by the ADD of the next") {
  Stacked node;
  // As from a pod with NET_ADMIN, by the number of the host's namespace.
  shell("ip link add spy link vf1 netns " + node.far + " type macvlan mode bridge");
  shell("ip link add own link vf1 type macvlan mode bridge");
  fs::create_directories(node.path("root/sys/class/net/vf1/upper_own"));
  const Outcome added = node.run(node.call("ADD"));
  INFO(added.err);
  REQUIRE(added.status == 0);
  CHECK_THAT(added.err, Contains("removed interfaces that a pod had stacked") && Contains("spy (macvlan)"));
  CHECK(node.in_pod(node.far, "ip -o link show").find("spy") == std::string::npos);
  CHECK_FALSE(shell("ip -o link show own").empty());  // the host's
  CHECK(node.run(node.call("DEL")).status == 0);
  shell("ip link del own");
  CHECK(node.world() == node.before);
}

TEST_CASE("A master counts as what stands on an interface, and its end is seen") {
  Stacked node;
  shell("ip link add b0 type bridge && ip link set vf1 master b0");
  CHECK(node.listed().links.size() == 1);
  shell("ip link set vf1 nomaster");
  CHECK(node.listed() == UpperLinks{});
}

TEST_CASE("What is not known of a kernel's list is an error") {
  const auto none = read_upper_links(1 << 30, offsets());
  REQUIRE_FALSE(none.ok());
  CHECK(none.error().code == Errc::not_found);
  UpperOffsets wrong = offsets();
  wrong.packet_device = 0;  // of another member, which points elsewhere or nowhere
  wrong.uppers = 0x7ffff000;
  const auto unreadable = read_upper_links(1, wrong);
  REQUIRE_FALSE(unreadable.ok());
  CHECK(unreadable.error().code == Errc::protocol);
}

TEST_CASE("The first DEL of a boot finds out where the kernel has its list, and keeps it") {
  OneDevice node;
  const std::string known = read_text(node.path("state/baselines/uppers.kernel"));
  REQUIRE_FALSE(known.empty());
  node.forget_kernel(Node::KernelTypes::described);
  SECTION("there is no file") {}
  SECTION("it cannot be read") { write_text(node.path("state/baselines/uppers.kernel"), "{"); }
  SECTION("it is of another boot") {
    std::string other = known;
    other.replace(other.find("5f1d0a5c"), 8, "5f1d0a5d");
    write_text(node.path("state/baselines/uppers.kernel"), other);
  }
  node.done(node.call("ADD"));
  const Outcome outcome = node.run(node.call("DEL"));
  CHECK(outcome.status == 0);
  CHECK_THAT(outcome.err, !Contains("warning"));
  CHECK(read_text(node.path("state/baselines/uppers.kernel")) == known);
}

TEST_CASE("Without the kernel's list it is said once a boot, and a DEL removes what it finds") {
  OneDevice node;
  node.forget_kernel(Node::KernelTypes::not_described);
  for (int i = 0; i < 2; ++i) {
    const Outcome added = node.run(node.call("ADD"));
    REQUIRE(added.status == 0);
    node.in_pod(node.pod, "ip link add spy link net1 type macvlan mode bridge");
    const Outcome outcome = node.run(node.call("DEL"));
    INFO(added.err << outcome.err);
    CHECK(outcome.status == 0);
    CHECK_THAT(outcome.err, Contains("removed interfaces"));
    const bool said = added.err.find("VF-UPPERS-UNKNOWN") != std::string::npos;
    CHECK(said == (i == 0));
    CHECK_THAT(outcome.err, !Contains("VF-UPPERS-UNKNOWN"));
  }
  CHECK(node.world() == node.before);
}

namespace {

// By the kernel's list and, where it has none, by a search; with and without trust in the network's pods.
void detach_beside(const Strangers::Counts& counts) {
  OneDevice node;
  const Strangers strangers(node, counts);  // whose /proc has another boot
  for (const auto& [listed, trusted] :
       {std::pair(true, true), {true, false}, {false, true}, {false, false}}) {
    CAPTURE(listed, trusted);
    node.forget_kernel(listed ? Node::KernelTypes::described : Node::KernelTypes::not_described);
    if (!listed) fs::remove(node.path("root/sys/kernel/btf/vmlinux"));
    node.network.set("podNetAdmin", !trusted);
    node.done(node.call("ADD"));
    const auto begin = steady_clock::now();
    const Outcome outcome = node.run(node.call("DEL"));
    const std::chrono::duration<double> took = steady_clock::now() - begin;
    WARN((listed ? "listed" : "searched")
         << (trusted ? "" : ", podNetAdmin") << ": DEL took " << took.count() << " s");
    INFO(outcome.out << outcome.err);
    CHECK(outcome.status == 0);
    // Nothing of all that is about this device.
    if (listed) CHECK_THAT(outcome.err, !Contains("warning"));
    CHECK_THAT(outcome.err, !Contains("rebinding"));
    CHECK(node.world() == node.before);
  }
}

}  // namespace

TEST_CASE(
    "A DEL succeeds, and rebinds nothing, beside strangers with namespaces, mounts, roots and processes of "
    "their own") {
  detach_beside({});
}

// Some minutes, most of them to make the strangers and to end them.
TEST_CASE("A DEL beside ten thousand mounts, five thousand processes and two thousand namespaces",
          "[.attack]") {
  detach_beside({.processes = 5000, .namespaces = 2000, .mounts = 10'000, .depth = 1300, .roots = 300});
}

}  // namespace vfrail::test

// What an attachment costs, in counts: netlink messages by kind, and system calls. Times are tests/bench. The
// numbers are exact where they are the kernel's minimum or guaranteed, so that a change of them is a
// decision.
#include "tests/netns/one_pod.h"
#include "tests/support/temp_dir.h"

#include <regex>
#include <sstream>

#include <catch2/catch.hpp>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

namespace vfrail::test {
namespace {

struct Cost {
  int messages = 0;
  int link_queries = 0;  // RTM_GETLINK of one link, without VF data
  int moves = 0;         // RTM_SETLINK with a namespace
  int link_dumps = 0;
  int vf_queries = 0;  // RTM_GETLINK that asks for VF data
  int system_calls = 0;
};

// strace does not know the protocol of a socket of another namespace, and then shows the attributes as bytes.
bool has_attribute(const std::string& line, const std::string& decoded, const std::string& bytes) {
  return std::regex_search(line, std::regex(decoded + "|" + bytes));
}

void count_message(const std::string& line, Cost& cost) {
  static const std::regex request("^send.*nlmsg_type=(0x[0-9a-f]+|[0-9]+), nlmsg_flags=(0x[0-9a-f]+|[0-9]+)");
  std::smatch parts;
  if (!std::regex_search(line, parts, request)) return;
  ++cost.messages;
  const unsigned long type = std::stoul(parts[1], nullptr, 0);
  const bool dump = (std::stoul(parts[2], nullptr, 0) & NLM_F_DUMP) == NLM_F_DUMP;
  if (type == RTM_SETLINK && has_attribute(line, "nla_type=0x1c[,}]", R"(\\x08\\x00\\x1c\\x00)"))
    ++cost.moves;
  if (type != RTM_GETLINK) return;
  // IFLA_EXT_MASK with its lowest bit, RTEXT_FILTER_VF.
  const bool vfs = has_attribute(line, R"(nla_type=0x1d\}, (0x[0-9a-f]*[13579bdf]|1)\b)",
                                 R"(\\x08\\x00\\x1d\\x00\\x[0-9a-f][13579bdf])");
  ++(vfs ? cost.vf_queries : dump ? cost.link_dumps : cost.link_queries);
}

// Counted at the second attachment: the first makes the state folders.
struct Counted : OneDevice {
  Counted() : OneDevice("ip link set vf1 down") {
    for (const char* verb : {"ADD", "DEL"}) REQUIRE(run(call(verb)).status == 0);
  }
  Cost cost_of(const std::string& verb) const {
    Call traced = call(verb);
    const std::string trace = path("trace-" + verb);
    traced.prefix = {"strace", "-qq", "-X", "raw", "-s", "512", "-o", trace};
    traced.more_environment["ASAN_OPTIONS"] = "detect_leaks=0";  // LeakSanitizer traces, and so does strace
    const Outcome outcome = run(traced);
    INFO(outcome.out << outcome.err);
    REQUIRE(outcome.status == 0);
    Cost cost;
    std::istringstream lines(read_text(trace));
    for (std::string line; std::getline(lines, line);) {
      if (std::regex_search(line, std::regex(R"(^[a-z][a-z0-9_]*\()"))) ++cost.system_calls;
      count_message(line, cost);
    }
    return cost;
  }
};

struct Budget {
  int link_queries;
  int link_dumps = 0;
  int others = 0;  // beside the move
  int most_system_calls;
};

// ADD: the device, and its name in the pod. That it has a baseline of this boot costs no message. Sixty of
// the system calls are for the files of the pod and for the record, which is saved a second time for them.
// One looks for what stands on the device, which on a real node, whose sysfs shows the device, takes five.
// The other lists the host's addresses of the device, which the move would lose. Fourteen ask the kernel what
// other pods have put on the device, with those that read what is known of this boot's kernel.
constexpr Budget kAdd{.link_queries = 3, .others = 1, .most_system_calls = 216};
// DEL: the device in the pod, its name in the host, and its state there after the return. The others: it is
// renamed before the move, so that the host's udev sees one name, and each group of ethtool's settings that
// its driver has is read and compared with the baseline. What the pod has stacked upon the device is asked of
// the kernel by three calls of bpf(2), whatever else the node has.
Budget del_budget(const Node& node) {
  const Json baseline = *Json::parse(read_text(node.path("state/baselines/0000:03:02.1.json")));
  const int groups = static_cast<int>(baseline.find("ethtool")->as_object()->size());
  return {.link_queries = 4, .others = 1 + groups, .most_system_calls = 192 + 6 * groups};
}

void is_the_promise(const Cost& cost, const Budget& budget) {
  const int most_system_calls = budget.most_system_calls;
  CHECK(cost.moves == 1);
  CHECK(cost.link_queries == budget.link_queries);
  CHECK(cost.link_dumps == budget.link_dumps);
  CHECK(cost.vf_queries == 0);
  CHECK(cost.messages == budget.link_queries + budget.link_dumps + budget.others + 1);
  INFO("system calls: " << cost.system_calls << ", messages: " << cost.messages);
  if (VFRAIL_CNI_IS_STATIC) CHECK(cost.system_calls <= most_system_calls);
}

// The physical function of the device knows that many VFs, and each has a netdev in the host.
void add_vfs(const Node& node, int count) {
  const std::string devices = "sys/bus/pci/devices/";
  std::string tree = devices + "0000:03:02.1/physfn -> ../0000:03:00.0\n";
  std::string links;
  for (int i = 0; i < count; ++i) {
    tree += devices + "0000:03:00.0/virtfn" + std::to_string(i) + " -> ../0000:03:02.1\n";
    if (i % 2 == 0) links += "link add other" + std::to_string(i) + " type veth\n";  // and its peer
  }
  write_tree(node.path("root"), tree);
  write_text(node.path("links"), links);
  shell("ip -batch " + node.path("links"));
}

}  // namespace

TEST_CASE("An attachment is one message that moves and three that query, DEL compares with the baseline") {
  Counted node;
  is_the_promise(node.cost_of("ADD"), kAdd);
  is_the_promise(node.cost_of("DEL"), del_budget(node));
}

TEST_CASE("A DEL costs the same beside other pods and processes, and reads nothing of them") {
  Counted node;
  REQUIRE(node.run(node.call("ADD")).status == 0);
  const Cost alone = node.cost_of("DEL");
  for (int i = 0; i < 20; ++i) static_cast<void>(node.add_pod("further" + std::to_string(i)));
  write_tree(
      node.path("root"),
      "proc/77/ns/net -> net:[77]\nproc/77/task/77/ns/net -> net:[77]\nproc/77/task/77/fd/5 -> net:[79]\n");
  REQUIRE(node.run(node.call("ADD")).status == 0);
  const Cost crowded = node.cost_of("DEL");
  CHECK(crowded.messages == alone.messages);
  CHECK(crowded.system_calls == alone.system_calls);
  const std::string trace = read_text(node.path("trace-DEL"));
  CHECK_THAT(trace, !Catch::Contains("/proc/77") && !Catch::Contains("mountinfo"));
}

TEST_CASE("Without the kernel's list each further pod costs a DEL one link dump and ten system calls") {
  Counted node;
  node.forget_kernel(Node::KernelTypes::not_described);
  for (const char* verb : {"ADD", "DEL", "ADD"}) REQUIRE(node.run(node.call(verb)).status == 0);
  const Cost alone = node.cost_of("DEL");
  constexpr int kPods = 8;
  for (int i = 0; i < kPods; ++i) static_cast<void>(node.add_pod("further" + std::to_string(i)));
  write_tree(node.path("root"),
             "proc/2/stat = 2 (kthreadd) S 0 0 0 0 -1 2129984 0\nproc/2/task/2/children = 78 79\n"
             "proc/77/ns/net -> net:[77]\nproc/78/ns/net -> net:[1]\nproc/77/task/77/fd/5 -> net:[79]\n");
  REQUIRE(node.run(node.call("ADD")).status == 0);
  const Cost crowded = node.cost_of("DEL");
  CHECK(alone.link_dumps == 1);
  CHECK(crowded.link_dumps == alone.link_dumps + kPods);
  CHECK(crowded.messages == alone.messages + kPods);
  CAPTURE(alone.system_calls, crowded.system_calls);
  // One more for each, where mountinfo becomes longer than what one read(2) takes; and those for /proc.
  CHECK(crowded.system_calls <= alone.system_calls + 11 * kPods + 20);
  // Of a process its namespace, and nothing of the kernel's threads.
  const std::string trace = read_text(node.path("trace-DEL"));
  CHECK_THAT(trace, Catch::Contains("/proc/77/ns/net") && !Catch::Contains("/proc/78/"));
  CHECK_THAT(trace, !Catch::Contains("/77/task/"));
}

TEST_CASE("An address costs two messages more, one of them announces it, and none at DEL") {
  Counted node;
  node.network.set("ipam", *Json::parse(R"({"type":"static","addresses":[{"address":"10.7.0.5/24"}]})"));
  const Cost add = node.cost_of("ADD");
  CHECK(add.messages == 7);
  CHECK(add.moves == 1);
  const Budget del = del_budget(node);
  CHECK(node.cost_of("DEL").messages == del.link_queries + del.link_dumps + del.others + 1);
}

TEST_CASE("A device that is up in the host costs two messages more, which query default routes over it") {
  Counted node;
  shell("ip link set vf1 up");
  const Cost add = node.cost_of("ADD");
  CHECK(add.messages == 7);
  CHECK(add.link_dumps == 0);
  const Budget del = del_budget(node);
  CHECK(node.cost_of("DEL").messages == del.link_queries + del.link_dumps + del.others + 1);
}

TEST_CASE("The cost of an attachment does not depend on the number of VFs") {
  Counted node;
  const int vfs = GENERATE(0, 64, 128);
  CAPTURE(vfs);
  add_vfs(node, vfs);
  is_the_promise(node.cost_of("ADD"), kAdd);
  is_the_promise(node.cost_of("DEL"), del_budget(node));
}

TEST_CASE("The counter sees the messages that must not be sent") {
  // A message of each kind, as strace shows it on a socket that it knows and on one that it does not.
  Cost cost;
  count_message(R"(sendmsg(5, {[{nlmsg_len=52, nlmsg_type=0x12, nlmsg_flags=0x301}, [{nla_len=8}]]}))", cost);
  CHECK(cost.link_dumps == 1);
  count_message(R"(sendto(5, {nlmsg_type=0x12, nlmsg_flags=0x5}, [{nla_len=8, nla_type=0x1d}, 0x9], 3))",
                cost);
  count_message(R"(sendto(5, {nlmsg_type=0x12, nlmsg_flags=0x5}, "\x00\x08\x00\x1d\x00\x01\x00"))", cost);
  CHECK(cost.vf_queries == 2);
  count_message(R"(sendto(5, {nlmsg_type=0x13, nlmsg_flags=0x5}, [{nla_len=8, nla_type=0x1c}, 6], 3))", cost);
  count_message(R"(sendto(5, {nlmsg_type=0x13, nlmsg_flags=0x5}, "\x08\x00\x1c\x00\x06\x00\x00\x00"))", cost);
  CHECK(cost.moves == 2);
  CHECK(cost.messages == 5);
  CHECK(cost.link_queries == 0);
}

}  // namespace vfrail::test

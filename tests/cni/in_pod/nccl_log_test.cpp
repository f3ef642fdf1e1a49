// --nccl-log: what a log of NCCL says, and what check VF-P23 makes of it.
#include "cni/in_pod/nccl/nccl_log.h"

#include "cni/in_pod/pod_report.h"
#include "tests/cni/in_pod/pod_tree.h"
#include "tests/support/places.h"
#include "tests/support/shell.h"

#include <fstream>
#include <random>

#include <catch2/catch.hpp>

using namespace vfrail;
using namespace vfrail::pod;
using test::PodTree;

namespace {

constexpr const char* kGood = R"(epoch 1
trainer-0:71:71 [0] NCCL INFO NET/IB : Using [0]mlx5_2:1/RoCE [1]mlx5_6:1/RoCE [RO]; OOB eth0:10.244.1.7<0>
trainer-0:71:90 [0] NCCL INFO Using network IB
trainer-0:71:90 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA
trainer-0:71:90 [0] NCCL INFO Channel 01/0 : 0[0] -> 1[1] via P2P/CUMEM
)";

NcclLog parse(const std::string& text) {
  NcclLog out;
  size_t number = 0, begin = 0;
  while (begin <= text.size()) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    add_nccl_line({++number, text.substr(begin, end - begin)}, out);
    begin = end + 1;
  }
  return out;
}

// "advice: TEXT", a line each.
std::string found(Result<NcclLog> log) {
  CheckedPod pod = PodTree().read();
  pod.nccl_log = std::move(log);
  std::string out;
  for (const CheckReport& report : check_pod(pod)) {
    for (const CheckResult& result : report.results) {
      if (report.id == "VF-P23") out += std::string(word_of(result.finding)) + ": " + result.text + "\n";
    }
  }
  return out;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string changed(const std::string& from, const std::string& to) {
  std::string out = kGood;
  const size_t at = out.find(from);
  REQUIRE(at != std::string::npos);
  return out.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("a log in which NCCL has taken all rails with GPUDirect has no finding") {
  const NcclLog log = parse(kGood);
  CHECK(log.lines == 4);
  CHECK(log.channels == 1);
  REQUIRE(log.fewest_devices);
  CHECK(log.fewest_devices->names == std::vector<std::string>{"mlx5_2:1", "mlx5_6:1"});
  CHECK(found(log) == "ok: by its log NCCL has taken RDMA, with all rails and GPUDirect\n");
}

TEST_CASE("what NCCL has not taken is found, with the line that says so") {
  CHECK(contains(found(parse(changed("Using network IB", "Using network Socket"))),
                 "fault: line 3, \"Using network Socket\": NCCL uses TCP"));
  CHECK(contains(found(parse(changed("NET/IB/0/GDRDMA", "NET/Socket/0"))), "fault: line 4, "));
  CHECK(contains(found(parse(changed("Using [0]", "No device found. "))), "fault: line 2, "));
  CHECK(contains(found(parse(changed("/GDRDMA", ""))),
                 "[send] via NET/IB/0\": 1 of 1 channel over RDMA without GPUDirect"));
  CHECK(contains(found(parse(changed(" [1]mlx5_6:1/RoCE", ""))),
                 "NCCL takes 1 device, and this pod has 2 rails"));
  // Of the processes of several pods that which takes fewest.
  CHECK(contains(found(parse(std::string(kGood) + "NCCL INFO NET/IB : Using [0]mlx5_1:1/IB [RO]; OOB x\n")),
                 "advice: line 6, "));
}

TEST_CASE("a log that says nothing about the network is unknown, and not good") {
  CHECK(found(parse("")) == "unknown: the log has no line of NCCL: run the job with NCCL_DEBUG=INFO\n");
  CHECK(found(parse("NCCL version 2.21.5\n")) == "unknown: the log does not say which network NCCL takes\n");
  CHECK(found(Error{Errc::not_found, 0, "open /x: ENOENT"}) == "unknown: open /x: ENOENT\n");
}

TEST_CASE("a network plugin is named, and not taken for NCCL's own network or for nothing") {
  for (const char* name : {"Libfabric", "AWS Libfabric", "gIB", "IBext_v8"}) {
    CAPTURE(name);
    CHECK(contains(found(parse(std::string("x [0] NCCL INFO Using network ") + name + "\r\n")),
                   std::string("the network is that of the plugin ") + name + ", whose"));
  }
  for (const char* name : {"IB", "Socket"})
    CHECK_FALSE(contains(found(parse(std::string("NCCL INFO Using network ") + name + "\n")), "plugin"));
}

TEST_CASE("the log of a crash leads to its cause first, and GPUDirect comes after it") {
  const std::string crash = found(parse(test::source_text("tests/data/logs/nccl_crash.txt")));
  CAPTURE(crash);
  CHECK(crash.starts_with("fault: line 8, \"transport/net_ib.cc:1207 -> 6\": "));
  CHECK(contains(crash.substr(0, crash.find('\n')), "lacks IPC_LOCK"));
  CHECK(contains(crash, "\nfault: line 6, \"Connection closed by remote peer worker-0.test"));
  CHECK(crash.find("without GPUDirect") > crash.find("IPC_LOCK"));
  const std::string refused =
      found(parse("NCCL WARN Call to ibv_reg_mr failed with error Cannot allocate memory\n"));
  CHECK(
      contains(refused, "fault: line 1, \"Call to ibv_reg_mr failed with error Cannot allocate memory\": "));
  CHECK(contains(refused, "ulimit -l"));
  // Who failed first has the cause, and what came of it is not said beside it.
  const std::string retries =
      found(parse("x NCCL WARN NET/IB : Got completion with error 12, opcode 0, len 0, vendor err 129\n"
                  "x NCCL INFO transport/net_ib.cc:9 -> 6\n"));
  CHECK(retries.starts_with("fault: line 1, "));
  CHECK_FALSE(contains(retries, "IPC_LOCK"));
}

TEST_CASE("other programs' lines in NCCL's log are read too: perftest's refusal of memory") {
  const std::string refused = found(parse(test::source_text("tests/data/logs/mr_refused.txt")));
  CAPTURE(refused);
  CHECK(contains(refused, "fault: line 8, \"Couldn't allocate MR\": The process may lock (pin) too"));
}

TEST_CASE("a warning of NCCL of which nothing is known is a finding, with its line and their number") {
  const std::string text = found(parse(std::string(kGood) + "a:1:1 [0] NCCL WARN Cuda failure 'x'\n" +
                                       "a:1:1 [0] NCCL WARN Cuda failure 'x'\n"));
  CHECK(
      text ==
      "advice: line 6, \"NCCL WARN Cuda failure 'x'\": 2 warnings of NCCL of which vfrail knows no cause\n");
}

TEST_CASE("vfrail-check explains ids with cause and remedy, and messages") {
  const auto id = test::run_in_shell("vfrail-check explain p10");
  CHECK(id.status == 0);
  CHECK(contains(id.output, "VF-P10 memlock is ok when "));
  CHECK(contains(id.output, "  Remedy:  `memlock` of the resource"));
  const auto message = test::run_in_shell("vfrail-check explain \"Couldn't allocate MR\"");
  CHECK(message.status == 0);
  CHECK(contains(message.output, "See:     VF-P10, VF-N36"));
  CHECK(test::run_in_shell("vfrail-check explain nothing-of-this").status == 1);
}

TEST_CASE("damaged and endless lines are read within limits") {
  std::mt19937 random(1);  // the same at each run
  const std::string good = kGood;
  for (int i = 0; i < 5000; ++i) {
    std::string damaged = good;
    damaged.erase(random() % damaged.size(), random() % 30);
    damaged.insert(random() % damaged.size(), good.substr(random() % good.size(), random() % 60));
    damaged[random() % damaged.size()] = static_cast<char>(random());
    const NcclLog log = parse(damaged);
    CHECK(log.channels_without_gpu_rdma <= log.channels);
    if (log.fewest_devices) CHECK(log.fewest_devices->names.size() <= 64);
  }
  std::string many = "NCCL INFO NET/IB : Using";
  for (int i = 0; i < 200; ++i) many += " [" + std::to_string(i) + "]a:1/IB";
  CHECK(parse(many).fewest_devices->names.size() == 64);
}

TEST_CASE("a log is read from its file, long lines are cut, and a file that is not there is named") {
  PodTree tree;
  const std::string path = tree.root() + "/nccl.log";
  std::ofstream(path) << std::string(100000, 'x') << "\n" << kGood << "NCCL INFO Using network Socket";
  const auto log = read_nccl_log(path);
  REQUIRE(log);
  CHECK(log->lines == 5);
  REQUIRE(log->symptoms.seen().size() == 1);
  CHECK(log->symptoms.seen()[0].line == 7);
  CHECK(read_nccl_log(tree.root() + "/none").error().code == Errc::not_found);
  const auto outcome =
      test::run_in_shell("vfrail-check --root " + tree.root() + " --nccl-log " + path + " | grep -A1 VF-P23");
  CHECK(contains(outcome.output, "line 7, \"Using network Socket\": NCCL uses TCP"));
}

TEST_CASE("an answer about a log is shown also if it is good, and other checks that are good are not") {
  PodTree tree;
  const std::string path = tree.root() + "/nccl.log";
  std::ofstream(path) << kGood;
  const auto outcome = test::run_in_shell("vfrail-check --root " + tree.root() + " --nccl-log " + path);
  CHECK(contains(outcome.output, "ok      VF-P23 nccl-log"));
  CHECK_FALSE(contains(outcome.output, "VF-P12"));
  CHECK(contains(outcome.output, "; --all shows each"));
}

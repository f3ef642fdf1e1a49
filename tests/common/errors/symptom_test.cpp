// common/errors/symptom.h and symptom_search.h: messages of other programs lead to their cause.
#include "common/errors/check_row.h"
#include "common/errors/error_id.h"
#include "common/errors/symptom_search.h"
#include "common/text.h"
#include "tests/support/places.h"

#include <algorithm>
#include <random>
#include <set>

#include <catch2/catch.hpp>

namespace vfrail {
namespace {

// The first that is seen.
const Symptom* cause_of(const std::string& text) {
  const auto seen = seen_symptoms(text);
  return seen.empty() ? nullptr : seen.front().symptom;
}

bool leads_to(const std::string& text, SymptomId id) { return cause_of(text) == &symptom_of(id); }

std::string log_text(const std::string& name) { return test::source_text("tests/data/logs/" + name); }

}  // namespace

TEST_CASE("every symptom has messages, a cause, a remedy and ids that there are") {
  std::set<std::string> messages;
  for (size_t i = 0; i < all_symptoms().size(); ++i) {
    const Symptom& symptom = all_symptoms()[i];
    INFO(symptom.messages[0]);
    CHECK(symptom.id == static_cast<SymptomId>(i));
    CHECK_FALSE(symptom.of.empty());
    CHECK_FALSE(symptom.messages[0].empty());
    for (const std::string_view text : {symptom.cause, symptom.remedy}) {
      CHECK(text.ends_with('.'));
      CHECK(text.find_first_of("\n<>|") == std::string_view::npos);  // a cell of a Markdown table
    }
    const auto ids = split(symptom.ids, " ");
    CHECK_FALSE(ids.empty());
    for (const std::string& id : ids) {
      INFO(id);
      CHECK((parse_error_id(id) || find_check_row(node_check_rows(), id) != nullptr ||
             find_check_row(pod_check_rows(), id) != nullptr));
    }
    for (const std::string_view message : symptom.messages) {
      if (message.empty()) continue;
      INFO(message);
      CHECK(message.find_first_of("\n`|") == std::string_view::npos);
      CHECK(messages.insert(in_lower_case(message)).second);
      // A row above, which says more, does not hide it.
      const Symptom* first = cause_of("x " + std::string(message) + " x");
      REQUIRE(first != nullptr);
      CHECK(first->messages[0] == symptom.messages[0]);
    }
  }
}

TEST_CASE("four logs of one cluster lead to their causes") {
  CHECK(leads_to(log_text("mr_refused.txt"), SymptomId::memory_refused));
  CHECK(leads_to(log_text("nccl_crash.txt"), SymptomId::nccl_ended));
  CHECK(leads_to(log_text("port_down.txt"), SymptomId::port_down));
  CHECK(leads_to(log_text("device_not_found.txt"), SymptomId::no_device));
  const Symptom& crash = symptom_of(SymptomId::nccl_ended);
  CHECK(crash.cause.find("IPC_LOCK") != std::string_view::npos);
  CHECK(crash.ids.starts_with("VF-P10"));
  CHECK(crash.remedy.starts_with("`memlock` of the resource"));
}

TEST_CASE("messages are found as programs print them, in whatever case") {
  for (
      const auto& [text, id] : std::vector<std::pair<const char*, SymptomId>>{
          {"a:1:2 [0] misc/ibvwrap.cc:262 NCCL WARN Call to ibv_reg_mr failed with error Cannot allocate "
           "memory",
           SymptomId::memory_refused},
          {"NCCL WARN Call to ibv_reg_mr_iova2 failed with error Bad address errno 14",
           SymptomId::gpu_memory_unusable},
          {"NCCL WARN Call to ibv_create_qp failed with error Cannot allocate memory errno 12",
           SymptomId::memory_refused},
          {"ib_md.c:287 UCX ERROR ibv_reg_mr(address=0x15213b956010, length=65536, access=0xf) failed: "
           "Cannot "
           "allocate memory : Please set max locked memory (ulimit -l) to 'unlimited' (current: 64 kbytes)",
           SymptomId::memory_refused},
          {"libibverbs: Warning: RLIMIT_MEMLOCK is 32768 bytes.", SymptomId::memory_refused},
          {"transport/net_ib.cc:1296 NCCL WARN NET/IB : Got completion from peer 10.2.0.5<33092> with error "
           "12, opcode 0, len 0, vendor err 129 (Recv)",
           SymptomId::retries_exceeded},
          {"NCCL WARN NET/IB: Got completion from peer 10.1.1.1<40554> with status=IBV_WC_RETRY_EXC_ERR(12) "
           "opcode=IBV_WC_RECV_RDMA_WITH_IMM(129) vendor_err=129 hca mlx5_1",
           SymptomId::retries_exceeded},
          {"NCCL WARN NET/IB: Got completion from peer 10.1.1.1<5> with status=4 opcode=32614 len=1 vendor "
           "err "
           "81 (Send) hca mlx5_1",
           SymptomId::gpu_memory_unusable},
          {" Failed to modify QP 264 to RTR", SymptomId::not_connected},
          {"COULDN'T ALLOCATE MR", SymptomId::memory_refused},
          {"NCCL INFO NET/IB : No device found.", SymptomId::no_device},
          {"libibverbs: Warning: couldn't load driver 'libmlx5-rdmav34.so': libmlx5-rdmav34.so: cannot open "
           "shared object file",
           SymptomId::no_library},
          {"open(/dev/infiniband/uverbs0): Permission denied", SymptomId::node_denied},
          {"0/3 nodes are available: 3 Insufficient nvidia.com/hostdev.", SymptomId::nothing_free},
          {"Warning UnexpectedAdmissionError 3s kubelet Allocate failed due to no healthy devices present; "
           "cannot allocate unhealthy devices rdma/a, which is unexpected",
           SymptomId::not_admitted},
          {"CDI device injection failed: unresolvable CDI devices rdma/a=0000:21:10.0",
           SymptomId::cdi_device_unknown},
          {"plugin type=\"multus\" name=\"multus-cni-network\" failed (add): [a/b/c:ib]: error adding "
           "container to network \"ib\": failed to find plugin \"vfrail\" in path [/opt/cni/bin]",
           SymptomId::plugin_missing},
          {"error adding container to network \"ib\": 0000:21:10.0 is in use [VF-DEVICE-IN-USE]",
           SymptomId::attach_failed},
          {"modprobe: ERROR: could not insert 'nvidia_peermem': Invalid argument",
           SymptomId::peer_memory_module},
          {"NCCL WARN NET/IB : mlx5_0:1 Got async event : port error", SymptomId::port_down},
          {"NCCL WARN NET/IB : mlx5_0:1 Got non-fatal async event: port error (10)", SymptomId::port_down},
          {"NCCL WARN NET/IB : Unable to open device mlx5_0", SymptomId::node_denied},
          {"NCCL WARN socketPollConnect: Connect to 10.1.1.2<4000> failed : Connection refused",
           SymptomId::no_bootstrap},
          {"NCCL WARN Net : Connect to 192.168.1.2<40000> failed : No route to host",
           SymptomId::no_bootstrap},
          {"NCCL WARN NET/Socket : no interface found", SymptomId::no_bootstrap},
          {" Couldn't connect to 10.1.1.1:18515", SymptomId::no_bootstrap},
          {"ncclRemoteError: A call failed possibly due to a network error or a remote process exiting "
           "prematurely.",
           SymptomId::peer_ended},
          {"ib_mlx5_log.c:171  Local protection on mlx5_0:1/RoCE (synd 0x4 vend 0x52 hw_synd 0/0)",
           SymptomId::gpu_memory_unusable},
          {"select.c:630  UCX  ERROR   no active messages transport to <no debug data>: Unsupported "
           "operation",
           SymptomId::wrong_network},
          {"ib_device.c:1122 UCX  ERROR ibv_create_ah(dlid=49152 sl=0 port=1 src_path_bits=0 "
           "dgid=::ffff:10.1.1.2 sgid_index=3 traffic_class=106) for RC DEVX QP connect on mlx5_0 failed: "
           "Connection timed out",
           SymptomId::not_connected},
          {" Found Incompatibility issue with GID types.", SymptomId::not_connected},
          {"cma event RDMA_CM_EVENT_ADDR_ERROR, error -19", SymptomId::not_connected},
          {"Failed to get IB devices list: Function not implemented", SymptomId::no_device},
          {"Error: failed to generate container \"ab\" spec: failed to apply OCI options: lstat "
           "/dev/infiniband/uverbs3: no such file or directory",
           SymptomId::node_gone},
          {"error gathering device information while adding custom device \"/dev/infiniband/umad3\": no such "
           "file or directory",
           SymptomId::node_gone},
          {"Warning  TopologyAffinityError  5s  kubelet  Resources cannot be allocated with Topology "
           "locality",
           SymptomId::topology_refused},
          {"[default/p:ib]: error adding container to network \"ib\": SRIOV-CNI failed to load netconf: "
           "LoadConf(): VF pci addr is required",
           SymptomId::no_resource_named},
          {"[default/p:ib]: error adding container to network \"ib\": error at storage engine: Could not "
           "allocate IP in range: ip: 10.66.3.221 / - 10.66.3.221 / range: net.IPNet{}",
           SymptomId::addresses_used_up},
          {"error at storage engine: time limit exceeded while waiting to become leader",
           SymptomId::addresses_used_up},
          {"Allocate failed due to no IP: failed to allocate for range 0: no IP addresses available in range "
           "set: 10.1.2.1-10.1.2.254",
           SymptomId::addresses_used_up}}) {
    INFO(text);
    CHECK(leads_to(text, id));
  }
  for (const char* text : {"", "\n\n", "NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA",
                           "Segmentation fault", "Allocate memory for the MR"}) {
    INFO(text);
    CHECK(cause_of(text) == nullptr);
  }
}

TEST_CASE("what follows from another failure is not shown beside it") {
  const std::string crash = log_text("nccl_crash.txt");
  const auto alone = seen_symptoms(crash);
  REQUIRE(alone.size() == 2);
  CHECK(alone[0].line == 8);
  CHECK(alone[0].text == "transport/net_ib.cc:1207 -> 6");
  CHECK(alone[1].symptom->id == SymptomId::peer_ended);
  const auto with_cause =
      seen_symptoms("NCCL WARN NET/IB : Got completion with error 12, opcode 0\n" + crash);
  REQUIRE(with_cause.size() == 1);
  CHECK(with_cause[0].symptom->id == SymptomId::retries_exceeded);
  CHECK(seen_symptoms(log_text("port_down.txt")).size() == 1);
  CHECK(leads_to(" Couldn't get context for the device", SymptomId::node_denied));
}

TEST_CASE("lines and texts are searched up to their limits, and damaged ones too") {
  const std::string message = "Couldn't allocate MR";
  CHECK(seen_symptoms(std::string(kMaxSymptomLine, 'x') + message).empty());
  CHECK(seen_symptoms(std::string(kMaxSymptomLine - message.size(), 'x') + message).size() == 1);
  CHECK(seen_symptoms(std::string(kMaxSearched, '\n') + message).empty());
  CHECK(seen_symptoms(message + std::string(2 * kMaxSymptomLine, 'x')).front().text.size() == 120);
  std::mt19937 random(1);  // the same at each run
  const std::string good = log_text("nccl_crash.txt");
  for (int i = 0; i < 500; ++i) {
    std::string damaged = good;
    damaged.erase(random() % damaged.size(), random() % 30);
    damaged[random() % damaged.size()] = static_cast<char>(random());
    for (const SeenSymptom& seen : seen_symptoms(damaged)) CHECK(seen.line > 0);
  }
}

TEST_CASE("every row of a check has whole sentences and an id of its own, by which it is found") {
  std::set<std::string_view> ids;
  for (const auto rows : {node_check_rows(), pod_check_rows()}) {
    for (const CheckRow& row : rows) {
      INFO(row.id);
      CHECK(ids.insert(row.id).second);
      CHECK(find_check_row(rows, in_lower_case(row.id.substr(3))) == &row);
      CHECK(find_check_row(rows, row.id) == &row);
      for (const std::string_view text : {row.symptom, row.cause, row.remedy}) {
        INFO(text);
        CHECK(text.ends_with('.'));
      }
    }
  }
  for (const char* other : {"", "VF-", "VF-P", "P1", "VF-N360"})
    CHECK(find_check_row(node_check_rows(), other) == nullptr);
}

}  // namespace vfrail

#include "common/kernel/upper_links.h"

#include "common/kernel/btf.h"
#include "common/unique_fd.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/bpf.h>

namespace vfrail {

namespace {

// The kernel lets programs with a licence that goes with the GPL alone read its memory. This one, the
// instructions that assemble() makes, may be used by the GNU GPL version 2 as well as by the LICENSE here.
constexpr const char* kLicence = "Dual BSD/GPL";

// What the program writes into its packet, of which an Ethernet header is the least.
struct Answer {
  uint32_t count;  // one more than the program lists: there are more
  struct {
    uint32_t index;
    uint32_t netns;
  } links[UpperLinks::kMost];
};

// Places on the program's stack, from its end.
constexpr int16_t kPointer = -8;
constexpr int16_t kNamespace = -16;
constexpr int16_t kLink = -24;  // as in Answer
constexpr int16_t kCount = -32;

class Assembler {
 public:
  void copy(uint8_t to, uint8_t from) { emit(BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0); }
  void set(uint8_t to, int32_t value) { emit(BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, value); }
  void add(uint8_t to, int64_t value) {
    emit(BPF_ALU64 | BPF_ADD | BPF_K, to, 0, 0, static_cast<int32_t>(value));
  }
  void load_pointer(uint8_t to, int16_t place) { emit(BPF_LDX | BPF_MEM | BPF_DW, to, BPF_REG_10, place, 0); }
  void store(int16_t place, uint8_t from) { emit(BPF_STX | BPF_MEM | BPF_W, BPF_REG_10, from, place, 0); }
  void jump_if_equal(uint8_t one, uint8_t other, std::vector<size_t>& to) {
    to.push_back(code_.size());
    emit(BPF_JMP | BPF_JEQ | BPF_X, one, other, 0, 0);
  }
  // Reads kernel memory at `from` + `offset`, which stays valid for as long as the program runs: it is in an
  // RCU section, and so are the lists. Ends the program with 1 if there is no memory.
  void read(int16_t place, int32_t bytes, uint8_t from, int64_t offset) {
    if (from != BPF_REG_3) copy(BPF_REG_3, from);
    add(BPF_REG_3, offset);
    copy(BPF_REG_1, BPF_REG_10);
    add(BPF_REG_1, place);
    set(BPF_REG_2, bytes);
    emit(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_probe_read_kernel);
    failures_.push_back(code_.size());
    emit(BPF_JMP | BPF_JNE | BPF_K, BPF_REG_0, 0, 0, 0);
  }
  void read_pointer(uint8_t to, uint8_t from, int64_t offset) {
    read(kPointer, 8, from, offset);
    load_pointer(to, kPointer);
  }
  // Into the packet, whose context is in register 6.
  void answer(size_t at, int16_t place, int32_t bytes) {
    copy(BPF_REG_1, BPF_REG_6);
    set(BPF_REG_2, static_cast<int32_t>(at));
    copy(BPF_REG_3, BPF_REG_10);
    add(BPF_REG_3, place);
    set(BPF_REG_4, bytes);
    set(BPF_REG_5, 0);
    emit(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_skb_store_bytes);
  }
  void exit_with(int32_t value) {
    set(BPF_REG_0, value);
    emit(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
  }
  void land(const std::vector<size_t>& jumps) {
    for (const size_t jump : jumps) code_[jump].off = static_cast<int16_t>(code_.size() - jump - 1);
  }
  std::vector<bpf_insn> finish() {
    land(failures_);
    exit_with(1);
    return std::move(code_);
  }

 private:
  void emit(int code, uint8_t to, uint8_t from, int16_t offset, int32_t value) {
    bpf_insn one{};
    one.code = static_cast<uint8_t>(code);
    one.dst_reg = to & 15U;
    one.src_reg = from & 15U;
    one.off = offset;
    one.imm = value;
    code_.push_back(one);
  }
  std::vector<bpf_insn> code_;
  std::vector<size_t> failures_;
};

// for (entry = head->next; entry != head; entry = entry->next) answer(entry's interface), `most` of them. The
// loop is unrolled, and the kernel verifies all of it each time.
std::vector<bpf_insn> assemble(const UpperOffsets& offsets, size_t most) {
  constexpr uint8_t kHead = BPF_REG_7;
  constexpr uint8_t kEntry = BPF_REG_8;
  constexpr uint8_t kSeen = BPF_REG_9;
  const int64_t device = int64_t{offsets.adjacent} - offsets.adjacent_entry;
  Assembler out;
  std::vector<size_t> done;
  out.copy(BPF_REG_6, BPF_REG_1);
  out.read_pointer(kHead, BPF_REG_6, offsets.packet_device);
  out.add(kHead, offsets.uppers);
  out.read_pointer(kEntry, kHead, 0);
  out.set(kSeen, 0);
  for (size_t i = 0; i < most; ++i) {
    out.jump_if_equal(kEntry, kHead, done);
    out.read_pointer(BPF_REG_3, kEntry, device);
    out.read(kNamespace, 8, BPF_REG_3, offsets.netns);
    out.load_pointer(BPF_REG_3, kPointer);
    out.read(kLink, 4, BPF_REG_3, offsets.index);
    out.load_pointer(BPF_REG_3, kNamespace);
    out.read(kLink + 4, 4, BPF_REG_3, offsets.netns_inode);
    out.answer(offsetof(Answer, links) + i * 8, kLink, 8);
    out.add(kSeen, 1);
    out.read_pointer(kEntry, kEntry, 0);
  }
  out.jump_if_equal(kEntry, kHead, done);
  out.add(kSeen, 1);
  out.land(done);
  out.store(kCount, kSeen);
  out.answer(offsetof(Answer, count), kCount, 4);
  out.exit_with(0);
  return out.finish();
}

int bpf(int command, bpf_attr& attributes) {
  return static_cast<int>(::syscall(SYS_bpf, command, &attributes, sizeof attributes));
}

Error refused(const std::string& what) {
  Error out = Error::from_errno(errno, what);
  // EINVAL: the kernel does not know the helper, or an interface for the packet.
  if (out.sys == EINVAL || out.sys == ENOSYS) out.code = Errc::unsupported;
  if (out.sys == ENODEV) out.code = Errc::not_found;
  return out;
}

// Runs the program once, on a packet of the interface.
Result<Answer> run(int index, const std::vector<bpf_insn>& code) {
  bpf_attr load{};
  load.prog_type = BPF_PROG_TYPE_SCHED_CLS;
  load.insns = reinterpret_cast<uintptr_t>(code.data());
  load.insn_cnt = static_cast<uint32_t>(code.size());
  load.license = reinterpret_cast<uintptr_t>(kLicence);
  const UniqueFd program(bpf(BPF_PROG_LOAD, load));
  if (!program.valid()) return refused("load the BPF program that lists what stands on an interface");
  __sk_buff context{};
  context.ifindex = static_cast<uint32_t>(index);
  Answer packet{};
  Answer answer{};
  bpf_attr run{};
  run.test.prog_fd = static_cast<uint32_t>(program.get());
  run.test.data_in = reinterpret_cast<uintptr_t>(&packet);
  run.test.data_size_in = sizeof packet;
  run.test.data_out = reinterpret_cast<uintptr_t>(&answer);
  run.test.data_size_out = sizeof answer;
  run.test.ctx_in = reinterpret_cast<uintptr_t>(&context);
  run.test.ctx_size_in = sizeof context;
  run.test.repeat = 1;
  if (bpf(BPF_PROG_TEST_RUN, run) != 0)
    return refused("list what stands on interface " + std::to_string(index));
  if (run.test.retval != 0)
    return Error{Errc::protocol, 0, "the kernel's list of what stands on an interface cannot be read"};
  return answer;
}

}  // namespace

Result<UpperOffsets> find_upper_offsets(std::string btf) {
  const Btf types = TRY(Btf::parse(std::move(btf)));
  UpperOffsets out;
  out.packet_device = TRY(types.offset_of("sk_buff", "dev"));
  out.uppers = TRY(types.offset_of("net_device", "adj_list.upper"));
  out.index = TRY(types.offset_of("net_device", "ifindex"));
  out.netns = TRY(types.offset_of("net_device", "nd_net.net"));
  out.netns_inode = TRY(types.offset_of("net", "ns.inum"));
  out.adjacent = TRY(types.offset_of("netdev_adjacent", "dev"));
  out.adjacent_entry = TRY(types.offset_of("netdev_adjacent", "list"));
  return out;
}

Result<UpperLinks> read_upper_links(int index, const UpperOffsets& offsets) {
  // Nearly every interface carries nothing, and to find that out takes a tenth of the program.
  if (TRY(run(index, assemble(offsets, 0))).count == 0) return UpperLinks{};
  const Answer answer = TRY(run(index, assemble(offsets, UpperLinks::kMost)));
  UpperLinks out;
  out.more = answer.count > UpperLinks::kMost;
  for (size_t i = 0; i < std::min<size_t>(answer.count, UpperLinks::kMost); ++i)
    out.links.push_back({static_cast<int>(answer.links[i].index), answer.links[i].netns});
  return out;
}

}  // namespace vfrail

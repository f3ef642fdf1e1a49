#include "cni/in_pod/traffic/verbs_traffic.h"

#include "cni/in_pod/probe/verbs_held.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace vfrail::pod {

namespace {

static_assert(kFlushed == IBV_WC_WR_FLUSH_ERR && kRemoteAccess == IBV_WC_REM_ACCESS_ERR &&
              kRetryExceeded == IBV_WC_RETRY_EXC_ERR);

// 4.096 us * 2^17, half a second, seven times: longer than a switch or an emulated device pauses, and a peer
// that does not answer is found out within seconds.
constexpr uint8_t kTimeout = 17;
constexpr uint8_t kRetries = 7;
constexpr uint8_t kHops = 64;
constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
constexpr int kPolled = 16;  // completions at a time

// IBV_MTU_256 is 1, and each next one twice as much.
uint32_t mtu_bytes(ibv_mtu mtu) { return 128U << static_cast<unsigned>(mtu); }

ibv_mtu mtu_of(uint32_t bytes) {
  for (const ibv_mtu mtu : {IBV_MTU_4096, IBV_MTU_2048, IBV_MTU_1024, IBV_MTU_512}) {
    if (mtu_bytes(mtu) <= bytes) return mtu;
  }
  return IBV_MTU_256;
}

using Failed = std::optional<TrafficFailure>;

class VerbsEnd : public TrafficEnd {
 public:
  VerbsEnd(HeldVerbs<ibv_context> context, const TrafficRail& rail, EndSize size)
      : context_(std::move(context)),
        port_(static_cast<uint8_t>(rail.port)),
        gid_index_(rail.gid_index),
        size_(size),
        pages_(uint64_t{size.message_bytes} * 2) {}

  Failed set_up() {
    if (!pages_.is_there()) return failed(TrafficStage::memory);
    domain_.reset(ibv_alloc_pd(context_.get()));
    if (domain_ == nullptr) return failed(TrafficStage::create);
    region_.reset(ibv_reg_mr(domain_.get(), pages_.memory(), uint64_t{size_.message_bytes} * 2, kAccess));
    if (region_ == nullptr) return failed(TrafficStage::memory);
    queue_.reset(ibv_create_cq(context_.get(), static_cast<int>(size_.depth), nullptr, nullptr, 0));
    if (queue_ == nullptr) return failed(TrafficStage::create);
    ibv_qp_init_attr wanted{};
    wanted.send_cq = wanted.recv_cq = queue_.get();
    wanted.cap = {.max_send_wr = size_.depth,
                  .max_recv_wr = 1,
                  .max_send_sge = 1,
                  .max_recv_sge = 1,
                  .max_inline_data = 0};
    wanted.qp_type = IBV_QPT_RC;
    pair_.reset(ibv_create_qp(domain_.get(), &wanted));
    if (pair_ == nullptr) return failed(TrafficStage::create);
    return initialise();
  }

  EndAddress address() const override { return own_; }

  Failed connect(const EndAddress& peer) override {
    ibv_qp_attr next{};
    next.qp_state = IBV_QPS_RTR;
    next.path_mtu = mtu_of(std::min(own_.mtu, peer.mtu));
    next.dest_qp_num = peer.queue_pair;
    next.max_dest_rd_atomic = 1;
    next.min_rnr_timer = 12;
    next.ah_attr.dlid = static_cast<uint16_t>(peer.lid);
    next.ah_attr.port_num = port_;
    if (gid_index_) {
      next.ah_attr.is_global = 1;
      next.ah_attr.grh.sgid_index = static_cast<uint8_t>(*gid_index_);
      next.ah_attr.grh.hop_limit = kHops;
      std::memcpy(next.ah_attr.grh.dgid.raw, peer.gid.data(), peer.gid.size());
    }
    if (const int error = ibv_modify_qp(pair_.get(), &next,
                                        IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                            IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER))
      return TrafficFailure{TrafficStage::rtr, error};
    peer_ = peer;
    return ready_to_send();
  }

  Failed post(uint32_t bytes) override {
    ibv_sge from{reinterpret_cast<uint64_t>(pages_.memory()), std::min(bytes, size_.message_bytes),
                 region_->lkey};
    ibv_send_wr request{};
    request.sg_list = &from;
    request.num_sge = 1;
    request.opcode = IBV_WR_RDMA_WRITE;
    request.send_flags = IBV_SEND_SIGNALED;
    request.wr.rdma.remote_addr = peer_.memory;
    request.wr.rdma.rkey = peer_.key;
    ibv_send_wr* bad = nullptr;
    if (const int error = ibv_post_send(pair_.get(), &request, &bad))
      return TrafficFailure{TrafficStage::write, error};
    return {};
  }

  std::variant<uint32_t, TrafficFailure> poll() override {
    ibv_wc completed[kPolled];
    const int count = ibv_poll_cq(queue_.get(), kPolled, completed);
    if (count < 0) return TrafficFailure{TrafficStage::complete, IBV_WC_GENERAL_ERR};
    // The first one has the cause; those behind it are flushed.
    for (int i = 0; i < count; ++i) {
      if (completed[i].status != IBV_WC_SUCCESS)
        return TrafficFailure{TrafficStage::complete, static_cast<int>(completed[i].status)};
    }
    return static_cast<uint32_t>(count);
  }

 private:
  static TrafficFailure failed(TrafficStage stage) { return {stage, errno}; }

  Failed initialise() {
    ibv_port_attr port{};
    if (const int error = ibv_query_port(context_.get(), port_, &port))
      return TrafficFailure{TrafficStage::open, error};
    own_.lid = port.lid;
    own_.mtu = std::max<uint32_t>(mtu_bytes(port.active_mtu), 256);
    own_.queue_pair = pair_->qp_num;
    own_.key = region_->rkey;
    own_.memory = reinterpret_cast<uint64_t>(pages_.memory()) + size_.message_bytes;
    ibv_gid gid{};
    // An index that is not there is refused by the kernel later, and then with its reason.
    if (gid_index_ && ibv_query_gid(context_.get(), port_, static_cast<int>(*gid_index_), &gid) == 0)
      std::copy(std::begin(gid.raw), std::end(gid.raw), own_.gid.begin());
    ibv_qp_attr next{};
    next.qp_state = IBV_QPS_INIT;
    next.port_num = port_;
    next.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
    if (const int error = ibv_modify_qp(pair_.get(), &next,
                                        IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS))
      return TrafficFailure{TrafficStage::init, error};
    return {};
  }

  Failed ready_to_send() {
    ibv_qp_attr next{};
    next.qp_state = IBV_QPS_RTS;
    next.timeout = kTimeout;
    next.retry_cnt = kRetries;
    next.rnr_retry = kRetries;
    next.max_rd_atomic = 1;
    if (const int error = ibv_modify_qp(pair_.get(), &next,
                                        IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                            IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC))
      return TrafficFailure{TrafficStage::rts, error};
    return {};
  }

  // Released in reverse.
  HeldVerbs<ibv_context> context_;
  const uint8_t port_;
  const std::optional<uint32_t> gid_index_;
  const EndSize size_;
  Pages pages_;  // the first half is written from, the second written to
  HeldVerbs<ibv_pd> domain_;
  HeldVerbs<ibv_mr> region_;
  HeldVerbs<ibv_cq> queue_;
  HeldVerbs<ibv_qp> pair_;
  EndAddress own_;
  EndAddress peer_;
};

}  // namespace

OpenedEnd VerbsTraffic::open(const TrafficRail& rail, EndSize size) {
  int count = 0;
  const HeldVerbs<ibv_device*> devices(ibv_get_device_list(&count));
  for (int i = 0; devices != nullptr && i < count; ++i) {
    ibv_device* device = devices.get()[i];
    if (rail.name != ibv_get_device_name(device)) continue;
    HeldVerbs<ibv_context> context(ibv_open_device(device));
    if (context == nullptr) return TrafficFailure{TrafficStage::open, errno};
    auto end = std::make_unique<VerbsEnd>(std::move(context), rail, size);
    if (const auto failure = end->set_up()) return *failure;
    return OpenedEnd(std::move(end));
  }
  return TrafficFailure{TrafficStage::open, ENODEV};
}

}  // namespace vfrail::pod
